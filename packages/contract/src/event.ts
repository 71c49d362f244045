import { z } from 'zod'
import { parseTimestamp, queryFlag, queryInteger } from './query-fields.ts'

export type EventCode = 'ok' | 'error' | 'warn'

/** Every event type with its code, from the specification's catalog. */
const catalog = {
  'sandbox.running': 'ok',
  'sandbox.ssh_ready': 'ok',
  'sandbox.paused': 'ok',
  'sandbox.resumed': 'ok',
  'sandbox.hibernated': 'ok',
  'sandbox.woken': 'ok',
  'sandbox.deleted': 'ok',
  'sandbox.forked': 'ok',
  'sandbox.warmforked': 'ok',
  'fork.staged': 'ok',
  'fork.completed': 'ok',
  'fork.child_failed': 'error',
  'fork_tree.completed': 'ok',
  'fork_tree.promoted': 'ok',
  'warmfork.staged': 'ok',
  'vm.died': 'error',
  'recover.orphaned': 'warn',
  'recover.unmanaged': 'warn',
  /** Not in the specification: a port of the sandbox began or stopped accepting connections. Metadata: `port`. */
  'sandbox.port_opened': 'ok',
  'sandbox.port_closed': 'ok',
  /** Not in the specification. Metadata: `visibility`, the new one. */
  'sandbox.visibility_changed': 'ok',
  /**
   * Not in the specification: control could not hibernate the sandbox at its deadline, and tries again. Once for each
   * deadline, and only in the workspace's events. Metadata: `error`, the agent's reason.
   */
  'sandbox.timeout_failed': 'warn',
  /**
   * Not in the specification: sent only to a consumer that fell behind. It is never stored and has no number of its
   * own. Metadata: `dropped`, the number of missed events; the consumer can fetch them with `since`.
   */
  'events.dropped': 'warn',
} as const satisfies Record<string, EventCode>

export type EventType = keyof typeof catalog
const eventTypes = Object.keys(catalog) as [EventType, ...EventType[]]

export function eventCode(type: EventType): EventCode {
  return catalog[type]
}

/** One change of one sandbox. */
export const event = z.object({
  /** RFC 3339, UTC, milliseconds. */
  ts: z.string(),
  sandbox_id: z.string(),
  agent_id: z.string(),
  type: z.enum(eventTypes),
  code: z.enum(['ok', 'error', 'warn']),
  message: z.string(),
  /** Keys depend on the type, and may grow. */
  metadata: z.record(z.string(), z.unknown()),
})
export type Event = z.infer<typeof event>

/**
 * Events that the agent keeps in memory per sandbox. `tail` reads them; a consumer that falls further behind loses
 * events.
 */
export const EVENT_RING = 512
/** Events in an answer if the request has neither `tail` nor `since`. */
export const DEFAULT_EVENT_TAIL = 100
const MAX_EVENT_TAIL = 1_000_000

/** An exclusive start: an event number, or a moment in Unix milliseconds. */
export type EventsSince =
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'time'; readonly ms: number }

const SINCE_REFUSED = 'since must be an event number or an RFC 3339 timestamp'
function parseSince(text: string): EventsSince | null {
  if (/^\d{1,15}$/.test(text)) return { kind: 'number', number: Number(text) }
  const ms = parseTimestamp(text)
  return ms === null ? null : { kind: 'time', ms }
}

/** Query of `GET /v1/sandboxes/{id}/events`. */
export const eventsQuery = z.object({
  /** The last events, counted after `since` if both are given. The ring holds {@link EVENT_RING}. */
  tail: queryInteger('tail', 0, MAX_EVENT_TAIL),
  follow: queryFlag('follow'),
  /** Exclusive. Timestamps are unique within a sandbox. */
  since: z
    .string({ error: SINCE_REFUSED })
    .transform((text, context) => {
      const since = parseSince(text)
      if (since === null) context.addIssue({ code: 'custom', message: SINCE_REFUSED })
      return since ?? z.NEVER
    })
    .optional(),
})
export type EventsQuery = z.output<typeof eventsQuery>
