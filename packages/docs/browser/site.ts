// Of every page: the sidebar on narrow screens, buttons that copy code, and the search.
import { element, find } from './element.ts'
import { startSearch } from './search.ts'

const COPIED_MS = 1500

function startMenu(): void {
  const button = find('#menu', HTMLButtonElement)
  const show = (isOpen: boolean): void => {
    document.body.classList.toggle('with-menu', isOpen)
    button.setAttribute('aria-expanded', String(isOpen))
  }
  button.addEventListener('click', () => show(!document.body.classList.contains('with-menu')))
  addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') show(false)
  })
}

async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  await navigator.clipboard.writeText(text)
  button.textContent = 'Copied'
  setTimeout(() => (button.textContent = 'Copy'), COPIED_MS)
}

function addCopyButtons(): void {
  for (const block of document.querySelectorAll('main pre')) {
    // Browsers offer the clipboard only to pages that came over HTTPS or from this machine.
    if (!isSecureContext) return
    const button = element('button', { type: 'button', className: 'copy' }, 'Copy')
    button.addEventListener('click', () => void copy(block.textContent, button))
    const frame = element('div', { className: 'code' })
    block.replaceWith(frame)
    frame.append(block, button)
  }
}

startMenu()
startSearch()
addCopyButtons()
find('#sidebar', HTMLElement).querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
