import { z } from 'zod'
import { queryInteger } from './query-fields.ts'

/** Default and maximum entries on one page of a list. */
export const DEFAULT_LIST_LIMIT = 100
export const MAX_LIST_LIMIT = 1000
/** Maximum characters of a cursor. Ours have about 80. */
const MAX_CURSOR_CHARS = 256

/** A repeated query parameter arrives as an array, and is refused like any other wrong type. */
export const once = (name: string) =>
  z.string({ error: ({ input }) => (input === undefined ? `${name} required` : `${name} must be given once`) })

/** Query of every paged list: newest first. The header `Link: <…>; rel="next"` names the next page. */
export const pageQuery = z.object({
  /** 1 to 1000, default 100. */
  limit: queryInteger('limit', 1, MAX_LIST_LIMIT),
  /** From the `Link` header of the previous page. */
  cursor: once('cursor').max(MAX_CURSOR_CHARS, 'cursor is not one this list gave out').optional(),
})

/** A parsed {@link pageQuery} with its defaults. */
export interface Page {
  readonly limit: number
  readonly cursor: string | undefined
}
