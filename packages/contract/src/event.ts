import { z } from 'zod'

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
