import { z } from 'zod'

/**
 * Body of the agent's `PUT /v1/agent/lease` → 200 {@link agentLease}: renews the host's lease, or asks for a challenge
 * only. Until a lease of the host has ended once, and from its first lease on, no durable VM runs without one
 * (docs/adr/0056-host-leases.md).
 */
export const leaseBody = z.object({
  /** The `challenge` of an earlier answer of this agent. Absent: this only asks for one. */
  challenge: z.string().max(64).optional(),
  /** Seconds from the moment at which the agent made the challenge to the end of the lease. */
  seconds: z.number().positive().max(1_000_000),
  /** Counts the leases of the host. */
  generation: z.int().min(0),
})
export type LeaseBody = z.infer<typeof leaseBody>

/** What an agent says of its lease. */
export const leaseState = z.object({
  /** The agent has had a lease, so its durable VMs run only during one. */
  is_required: z.boolean(),
  /** Milliseconds until it ends by the clock of the host; 0: it has ended, or there is none. */
  left_ms: z.int().min(0),
  /** Of the lease that it has or had last; 0: it had none. */
  generation: z.int().min(0),
  /** Durable VMs that are stopped until there is a lease. */
  stopped_vms: z.int().min(0),
})
export type LeaseState = z.infer<typeof leaseState>

/** Answer of the agent's `PUT /v1/agent/lease`. */
export const agentLease = leaseState.extend({
  /** For the next renewal; `null`: the agent cannot stop its durable VMs in time, so it takes no lease. */
  challenge: z.string().nullable(),
  /** Whether the agent knew the challenge of the request, so that the lease lasts until then at least. */
  is_renewed: z.boolean(),
})
export type AgentLease = z.infer<typeof agentLease>
