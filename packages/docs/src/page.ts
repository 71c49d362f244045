import type { Passage, Heading } from './markdown.ts'

/** A page of the site. */
export interface Page {
  /** Its file in the repository; null for a page that the OpenAPI document gives. */
  readonly source: string | null
  /** Its address below the root of the site, such as `adr/0034-npm-package`; `index` is the root. */
  readonly path: string
  readonly title: string
  /** In the sidebar. */
  readonly shortTitle: string
  readonly html: string
  /** Of level 2 and 3, beside the page. */
  readonly headings: readonly Heading[]
  readonly passages: readonly Passage[]
  /** Whether it needs the script that sends requests. */
  readonly hasRequests: boolean
  /** The path of the site, for a page that stands at every address. The links of other pages are relative. */
  readonly root?: string
}

/** What browsers see at an address without a page. Control serves the site at this path. */
export const NOT_FOUND: Page = {
  source: null,
  path: '404',
  title: 'No such page',
  shortTitle: 'No such page',
  html:
    '<h1>No such page</h1>\n<p>The documentation has no page at this address. It may have been renamed: look for it in the' +
    ' list of pages, or search for what you need with <kbd>/</kbd>.</p>\n<p><a href="/docs/">First page of the documentation</a></p>',
  headings: [],
  passages: [],
  hasRequests: false,
  root: '/docs/',
}

/** The address of one page or file in a link of a page. */
export function addressIn({ root, path }: Page, to: string): string {
  return root === undefined ? relativeAddress(path, to) : `${root}${to === 'index' ? '' : to}`
}

/** The address of one page in a link of another. The site can be served below any path. */
export function relativeAddress(from: string, to: string): string {
  const up = '../'.repeat(from.split('/').length - 1)
  const target = to === 'index' ? '' : to
  return `${up}${target}` || './'
}
