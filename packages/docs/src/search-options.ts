import type { Options } from 'minisearch'

/** What the search knows of a passage. `id` is its address below the root of the site. */
export interface IndexedPassage {
  readonly id: string
  readonly page: string
  readonly heading: string
  readonly text: string
}

/** Of the index that the build writes and the browser loads. */
export const SEARCH_OPTIONS: Options<IndexedPassage> = {
  fields: ['heading', 'page', 'text'],
  storeFields: ['page', 'heading'],
  searchOptions: {
    boost: { heading: 4, page: 2 },
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    combineWith: 'AND',
  },
}
