import { z } from 'zod'
import { flag, integer, optional } from './fields.ts'

/** Objects that one answer names. */
export const MAX_WAITING_SHOWN = 1_000

/**
 * Something that the reconciliation of a host would remove, although no row says that it was removed.
 * `delete`: the host has the object, and the database never knew it or has forgotten it. `forget`: the database has the row, and
 * many of the host's objects are missing at once.
 */
const waitingObject = z.object({
  action: z.enum(['delete', 'forget']),
  kind: z.enum(['sandbox', 'snapshot', 'volume', 'template']),
  id: z.string(),
  workspace_id: z.string(),
  /** When it was first noticed. */
  since: z.iso.datetime(),
})
export type WaitingObject = z.infer<typeof waitingObject>

/** Answer of `GET` and `POST /v1/admin/hosts/{id}/reconcile`. */
export const hostReconciliation = z.object({
  agent_id: z.string(),
  /** Whose control the host obeys: this database's, another's, or nobody's yet. */
  cluster: z.enum(['own', 'other', 'none']),
  /** Objects that wait for a confirmation. */
  count: z.int(),
  /** The first of them, oldest first. */
  waiting: z.array(waitingObject),
})
export type HostReconciliation = z.infer<typeof hostReconciliation>

/** Body of `POST /v1/admin/hosts/{id}/reconcile`. */
export const confirmReconciliationBody = z.object({
  /** As `GET` said: when it is another by now, nothing is confirmed. */
  count: integer('count', 0, 1_000_000_000),
  /** Makes a host of another cluster obey this one. */
  take_over: optional(flag('take_over')),
})
