// Runs before the page is painted: a theme that the reader chose earlier replaces that of the system.
const THEME = 'offshoot-theme'

const chosen = localStorage.getItem(THEME)
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset['theme'] = chosen

addEventListener('DOMContentLoaded', () => {
  document.querySelector('#theme')?.addEventListener('click', () => {
    const own = document.documentElement.dataset['theme']
    const isDark = own === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : own === 'dark'
    const next = isDark ? 'light' : 'dark'
    document.documentElement.dataset['theme'] = next
    localStorage.setItem(THEME, next)
  })
})
