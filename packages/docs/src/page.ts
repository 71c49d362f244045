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
}

/** The address of one page in a link of another. The site can be served below any path. */
export function relativeAddress(from: string, to: string): string {
  const up = '../'.repeat(from.split('/').length - 1)
  const target = to === 'index' ? '' : to
  return `${up}${target}` || './'
}
