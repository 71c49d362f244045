import { z } from 'zod'

/**
 * One object on an agent's disk that the agent does not use and does not delete.
 * `quarantined`: an orphan, which no record accounts for. It was moved to quarantine, and is deleted after a week.
 * `unreadable`: it lies in its place, and its record cannot be read; it stays until an operator acts.
 */
export const quarantineEntry = z.object({
  /** Names the entry in requests. */
  entry: z.string(),
  state: z.enum(['quarantined', 'unreadable']),
  kind: z.enum(['sandbox', 'snapshot', 'volume', 'template', 'build', 'layer', 'other']),
  /** Of the object, or the name of its file. */
  id: z.string(),
  /** Below the agent's data directory: where the object was, or where the record is that cannot be read. */
  path: z.string(),
  /** A sentence for the operator. */
  reason: z.string(),
  /** Frozen disk layers that the object needs, and that are kept for it; `null`: not known, so that all are kept. */
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
