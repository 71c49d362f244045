import { useEffect, useState } from 'react'

export type Theme = 'system' | 'light' | 'dark'

export const THEMES: readonly { readonly theme: Theme; readonly label: string }[] = [
  { theme: 'system', label: 'As the system' },
  { theme: 'light', label: 'Light' },
  { theme: 'dark', label: 'Dark' },
]

const KEY = 'offshoot-theme'
const prefersDark = matchMedia('(prefers-color-scheme: dark)')

function stored(): Theme {
  const found = localStorage.getItem(KEY)
  return found === 'light' || found === 'dark' ? found : 'system'
}

/** Call this before the first paint. */
export function applyTheme(theme: Theme = stored()): void {
  const isDark = theme === 'dark' || (theme === 'system' && prefersDark.matches)
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored)
  useEffect(() => {
    const follow = () => applyTheme(theme)
    follow()
    prefersDark.addEventListener('change', follow)
    return () => prefersDark.removeEventListener('change', follow)
  }, [theme])
  return [
    theme,
    (next) => {
      localStorage.setItem(KEY, next)
      setTheme(next)
    },
  ]
}

const isDarkNow = () => document.documentElement.dataset['theme'] === 'dark'

/** Whether the page is dark now. Re-renders when that changes. */
export function useIsDark(): boolean {
  const [isDark, setDark] = useState(isDarkNow)
  useEffect(() => {
    const observer = new MutationObserver(() => setDark(isDarkNow()))
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => observer.disconnect()
  }, [])
  return isDark
}
