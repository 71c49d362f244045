import MiniSearch from 'minisearch'
import type { Page } from './page.ts'
import { SEARCH_OPTIONS } from './search-options.ts'

/** The index that the browser loads at the first search: every heading with the text below it. */
export function searchIndex(pages: readonly Page[]): string {
  const index = new MiniSearch(SEARCH_OPTIONS)
  index.addAll(
    pages.flatMap((page) =>
      page.passages.map(({ heading, text }) => {
        const isTop = heading.level === 1
        const path = page.path === 'index' ? '' : page.path
        const id = isTop ? path : `${path}#${heading.anchor}`
        return { id, page: page.title, heading: isTop ? page.title : heading.text, text }
      }),
    ),
  )
  return JSON.stringify(index)
}
