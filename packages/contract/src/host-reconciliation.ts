import { z } from 'zod'
import { flag, integer, optional } from './fields.ts'

/** Maximum objects in one answer. */
export const MAX_WAITING_SHOWN = 1_000

/**
 * An object that the reconciliation would remove although no row records its deletion.
 * - `delete`: the host has an object that the database does not know.
 * - `forget`: the database has a row, and many of the host's objects are missing at once.
 */
const waitingObject = z.object({
  action: z.enum(['delete', 'forget']),
  kind: z.enum(['sandbox', 'snapshot', 'volume', 'template']),
  id: z.string(),
  workspace_id: z.string(),
  /** When control first noticed it. */
  since: z.iso.datetime(),
})
export type WaitingObject = z.infer<typeof waitingObject>

/** Answer of `GET` and `POST /v1/admin/hosts/{id}/reconcile`. */
export const hostReconciliation = z.object({
  agent_id: z.string(),
  /** The cluster that the host obeys: this one, another one, or none yet. */
  cluster: z.enum(['own', 'other', 'none']),
  /** Number of objects that wait for confirmation. */
  count: z.int(),
  /** The oldest of them, oldest first, at most {@link MAX_WAITING_SHOWN}. */
  waiting: z.array(waitingObject),
})
export type HostReconciliation = z.infer<typeof hostReconciliation>

/** Body of `POST /v1/admin/hosts/{id}/reconcile`. */
export const confirmReconciliationBody = z.object({
  /** The `count` of the GET. If the number has changed since, nothing is confirmed. */
  count: integer('count', 0, 1_000_000_000),
  /** Moves a host of another cluster to this one. */
  take_over: optional(flag('take_over')),
})
