import MiniSearch, { type SearchResult } from 'minisearch'
import { type IndexedPassage, SEARCH_OPTIONS } from '../src/search-options.ts'
import { element, find } from './element.ts'

const MAX_RESULTS = 20

/** The search works without the server: the index is a file of the site, loaded when the reader opens the search. */
export function startSearch(): void {
  const finder = find('#finder', HTMLDialogElement)
  const query = find('#query', HTMLInputElement)
  const { root = './', search: index = '' } = document.documentElement.dataset
  let loading: Promise<MiniSearch<IndexedPassage>> | null = null

  const open = (): void => {
    finder.showModal()
    query.select()
    loading ??= loadIndex(index)
  }
  const search = async (): Promise<void> => {
    loading ??= loadIndex(index)
    const asked = query.value
    const loaded = await loading.catch(() => null)
    if (asked !== query.value) return
    if (loaded === null) loading = null
    show(root, asked, loaded?.search(asked) ?? null)
  }
  find('#search', HTMLButtonElement).addEventListener('click', open)
  query.addEventListener('input', () => void search())
  query.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    finder.querySelector<HTMLAnchorElement>('#results a')?.click()
  })
  finder.addEventListener('keydown', (event) => moveBetweenResults(event, query))
  find('#results', HTMLElement).addEventListener('click', () => finder.close())
  addEventListener('keydown', (event) => {
    const isShortcut = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey))
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
    if (!isShortcut || (isTyping && event.key === '/') || finder.open) return
    event.preventDefault()
    open()
  })
}

async function loadIndex(address: string): Promise<MiniSearch<IndexedPassage>> {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`The index of the search answered ${response.status}.`)
  return MiniSearch.loadJSON<IndexedPassage>(await response.text(), SEARCH_OPTIONS)
}

function show(root: string, query: string, results: readonly SearchResult[] | null): void {
  const found = find('#found', HTMLElement)
  const shown = (results ?? []).slice(0, MAX_RESULTS)
  if (query.trim() === '') found.textContent = ''
  else if (results === null) found.textContent = 'The index could not be loaded. Type again to retry.'
  else found.textContent = results.length === 1 ? '1 result' : `${results.length} results`
  const entries = shown.map((result) => {
    const { page, heading } = result as unknown as IndexedPassage
    const where = page === heading ? [] : [element('span', {}, page)]
    return element('li', {}, element('a', { href: `${root}${String(result['id'])}` }, heading, ...where))
  })
  find('#results', HTMLElement).replaceChildren(...entries)
}

function moveBetweenResults(event: KeyboardEvent, query: HTMLElement): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  event.preventDefault()
  const stops = [query, ...document.querySelectorAll<HTMLElement>('#results a')]
  const place = stops.indexOf(document.activeElement as HTMLElement) + (event.key === 'ArrowDown' ? 1 : -1)
  stops[Math.max(0, Math.min(place, stops.length - 1))]?.focus()
}
