import { z } from 'zod'
import { parseTimestamp, queryInteger } from './query-fields.ts'

/** Default entries on one page of a list that has a default, and maximum entries on a page of any list. */
export const DEFAULT_LIST_LIMIT = 100
export const MAX_LIST_LIMIT = 1000
/** Maximum characters of a cursor. The longest of ours contains a domain of 253 characters. */
const MAX_CURSOR_CHARS = 1024
/** The only years of which every time is also a time of PostgreSQL. */
const YEAR = /^(?!0000)\d{4}-/

/** A repeated query parameter arrives as an array, and is refused like any other wrong type. */
export const once = (name: string) =>
  z.string({ error: ({ input }) => (input === undefined ? `${name} required` : `${name} must be given once`) })

/** A timestamp of the years 1 to 9999, in any form that `Date` reads, returned in UTC with milliseconds. */
export const queryTime = (name: string) =>
  once(name)
    .meta({ format: 'date-time' })
    .transform((text) => new Date(parseTimestamp(text) ?? Date.parse(text)))
    .refine((time) => !Number.isNaN(time.getTime()) && YEAR.test(time.toISOString()), `${name} must be a timestamp`)
    .transform((time) => time.toISOString())
    .optional()

/** Query of every paged list. The header `Link: <…>; rel="next"` names the next page (docs/lists.md). */
export const pageQuery = z.object({
  /** 1 to 1000. Some lists have a default; the others are complete without it. */
  limit: queryInteger('limit', 1, MAX_LIST_LIMIT),
  /** From the `Link` header of the previous page. */
  cursor: once('cursor').max(MAX_CURSOR_CHARS, 'cursor is not one this list gave out').optional(),
})

/** {@link pageQuery} of a list whose objects have `created_at`. */
export const createdQuery = pageQuery.extend({
  /** Only objects created later than this time. */
  created_after: queryTime('created_after'),
  /** Only objects created earlier than this time. */
  created_before: queryTime('created_before'),
})

/** A parsed {@link pageQuery} with its defaults. */
export interface Page {
  readonly limit: number
  readonly cursor: string | undefined
}
