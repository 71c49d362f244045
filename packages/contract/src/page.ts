import { z } from 'zod'
import { queryInteger } from './query-fields.ts'

/** Entries on one page of a list when the caller names no number, and at most. */
export const DEFAULT_LIST_LIMIT = 100
export const MAX_LIST_LIMIT = 1000
/** Characters of a cursor; ours have about 80. */
const MAX_CURSOR_CHARS = 256

/** A query parameter given twice arrives as an array and is refused like any other wrong type. */
export const once = (name: string) =>
  z.string({ error: ({ input }) => (input === undefined ? `${name} required` : `${name} must be given once`) })

/** Query of every list that has pages: newest first, the next one in `Link: <…>; rel="next"`. */
export const pageQuery = z.object({
  /** 1 to 1000, default 100. */
  limit: queryInteger('limit', 1, MAX_LIST_LIMIT),
  /** From the `Link: <…>; rel="next"` header of the page before. */
  cursor: once('cursor').max(MAX_CURSOR_CHARS, 'cursor is not one this list gave out').optional(),
})

/** {@link pageQuery} once parsed, with its defaults. */
export interface Page {
  readonly limit: number
  readonly cursor: string | undefined
}
