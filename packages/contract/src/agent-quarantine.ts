import { z } from 'zod'
import { pageQuery } from './page.ts'
import { queryOneOf } from './query-fields.ts'

/**
 * An object on the agent's disk that the agent neither uses nor deletes.
 * - `quarantined`: an orphan. The agent moved it to quarantine, and deletes it after a week.
 * - `unreadable`: its record cannot be read. It stays in place until an operator acts.
 */
export const quarantineEntry = z.object({
  /** Identifies the entry in requests. */
  entry: z.string(),
  state: z.enum(['quarantined', 'unreadable']),
  kind: z.enum(['sandbox', 'snapshot', 'volume', 'template', 'build', 'layer', 'other']),
  /** Id of the object, or the name of its file. */
  id: z.string(),
  /** Path below the agent's data directory: the object's earlier place, or the unreadable record. */
  path: z.string(),
  /** A sentence for the operator. */
  reason: z.string(),
  /**
   * Frozen disk layers that the object needs; the agent keeps them. `null` if unknown: then the agent keeps all layers.
   */
  layers: z.array(z.string()).nullable().default(null),
  /** When the agent noticed it. */
  since: z.iso.datetime(),
})
export type QuarantineEntry = z.infer<typeof quarantineEntry>

/** Answer of the agent's `GET /v1/quarantine`. */
export const agentQuarantine = z.object({ entries: z.array(quarantineEntry) })
export type AgentQuarantine = z.infer<typeof agentQuarantine>

/** Answer of `GET /v1/hosts/{id}/quarantine`, for operators: oldest first. */
export const hostQuarantine = z.array(quarantineEntry)

/** Query of `GET /v1/hosts/{id}/quarantine`. */
export const hostQuarantineQuery = pageQuery.extend({
  state: queryOneOf('state', quarantineEntry.shape.state.options),
  kind: queryOneOf('kind', quarantineEntry.shape.kind.options),
})
