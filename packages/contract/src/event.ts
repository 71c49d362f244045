import { z } from 'zod'
import { parseTimestamp, queryFlag, queryInteger } from './query-fields.ts'

export type EventCode = 'ok' | 'error' | 'warn'

/** Every event type with the code it carries (interface.md, "Catalog"; wire.md, "Events"). */
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
  /** Beyond the specification: something in the sandbox accepts connections on `port`, or does no more. Metadata: `port`. */
  'sandbox.port_opened': 'ok',
  'sandbox.port_closed': 'ok',
  /**
   * Beyond the specification: told to one consumer that fell behind, never kept, without a number of its own.
   * Metadata: `dropped`, how many events it missed; they can be had with `since`.
   */
  'events.dropped': 'warn',
} as const satisfies Record<string, EventCode>

export type EventType = keyof typeof catalog
const eventTypes = Object.keys(catalog) as [EventType, ...EventType[]]

export function eventCode(type: EventType): EventCode {
  return catalog[type]
}

/** One change of one sandbox, as clients see it. */
export const event = z.object({
  /** RFC 3339, UTC, milliseconds. */
  ts: z.string(),
  sandbox_id: z.string(),
  agent_id: z.string(),
  type: z.enum(eventTypes),
  code: z.enum(['ok', 'error', 'warn']),
  message: z.string(),
  /** Keys depend on the type and may grow. */
  metadata: z.record(z.string(), z.unknown()),
})
export type Event = z.infer<typeof event>

/** Events that one sandbox keeps in memory: the source of `tail`, and how far a consumer may fall behind. */
export const EVENT_RING = 512
/** Events that are answered when a request says neither `tail` nor `since`. */
export const DEFAULT_EVENT_TAIL = 100
const MAX_EVENT_TAIL = 1_000_000

/** After which event to begin: after this number, or after this moment (milliseconds of Unix time). */
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
  /** The last so many events, of those after `since` where both are given; the ring holds {@link EVENT_RING}. */
  tail: queryInteger('tail', 0, MAX_EVENT_TAIL),
  follow: queryFlag('follow'),
  /** Exclusive. No two events of a sandbox share a timestamp. */
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
