import { z } from 'zod'
import { isUuid } from './ids.ts'
import { MAX_LIST_LIMIT, once, pageQuery, queryTime } from './page.ts'
import { parseTimestamp, queryFlag, queryInteger } from './query-fields.ts'
import { eventPatterns } from './workspace-event.ts'

/** Maximum characters of `object`: a UUID, or the name of a template. */
const MAX_OBJECT_CHARS = 64

/** The id of an event: the number of its transaction, and its own number. */
export interface EventPosition {
  readonly xid: string
  readonly seq: number
}

/** Before the first event. */
export const FIRST_POSITION: EventPosition = { xid: '0', seq: 0 }

export function formatEventId({ xid, seq }: EventPosition): string {
  return `${xid}-${seq}`
}

/** `null` if the text is no id of an event. */
export function parseEventId(text: string): EventPosition | null {
  const [, xid, seq] = /^(\d{1,18})-(\d{1,15})$/.exec(text) ?? []
  return xid === undefined || seq === undefined ? null : { xid, seq: Number(seq) }
}

/** An exclusive start: an event, or a time (RFC 3339, UTC, milliseconds). */
export type WorkspaceEventsSince =
  | { readonly kind: 'event'; readonly position: EventPosition }
  | { readonly kind: 'time'; readonly time: string }

const SINCE_REFUSED = 'since must be the id of an event or an RFC 3339 timestamp'
function parseSince(text: string): WorkspaceEventsSince | null {
  const position = parseEventId(text)
  if (position !== null) return { kind: 'event', position }
  const ms = parseTimestamp(text)
  return ms === null || Math.abs(ms) > MAX_MS ? null : { kind: 'time', time: new Date(ms).toISOString() }
}
/** Milliseconds of the end of year 9999. */
const MAX_MS = 253_402_300_799_999

/**
 * Query of `GET /v1/events`: a workspace's events of the last 90 days, including those of deleted objects. Without
 * `since`, `tail` and `follow`: newest first, in pages. With one of them: in the order of their arrival.
 */
export const eventListQuery = pageQuery.extend({
  /** One type, or several separated by commas. `deploy.*` stands for all types of this group. */
  type: once('type')
    .transform((text) => text.split(','))
    .refine(
      (names) => names.every((name) => eventPatterns.includes(name)),
      `type must be among ${eventPatterns.join(', ')}`,
    )
    .optional(),
  sandbox_id: once('sandbox_id').refine(isUuid, 'sandbox_id must be a UUID').optional(),
  /** Id of a sandbox, build, deployment, app or database, or the name of a built template. */
  object: once('object')
    .min(1, 'object must not be empty')
    .max(MAX_OBJECT_CHARS, `object must be at most ${MAX_OBJECT_CHARS} characters`)
    .optional(),
  /** RFC 3339. Events at or after this time. */
  from: queryTime('from'),
  /** RFC 3339. Events before this time. */
  to: queryTime('to'),
  /** The id of an event, or an RFC 3339 time. Only events after it; at most `limit` without `follow`. */
  since: z
    .string({ error: SINCE_REFUSED })
    .transform((text, context) => {
      const since = parseSince(text)
      if (since === null) context.addIssue({ code: 'custom', message: SINCE_REFUSED })
      return since ?? z.NEVER
    })
    .optional(),
  /** The last events, counted after `since` if both are given. With `follow` alone: 100. */
  tail: queryInteger('tail', 0, MAX_LIST_LIMIT),
  /** Server-sent events, which go on with each new event. */
  follow: queryFlag('follow'),
})
