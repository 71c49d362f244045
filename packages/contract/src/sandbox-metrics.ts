import { z } from 'zod'
import { parseTimestamp, queryInteger } from './query-fields.ts'

/** Seconds between two samples of a sandbox that has a VM: the finest `step`. */
export const SAMPLE_SECONDS = 10
/** Seconds of samples that an agent keeps of each sandbox: how far back `since` may go. */
export const METRICS_HISTORY_SECONDS = 3600
const DEFAULT_STEP_SECONDS = 60
/** Milliseconds by which the clocks of a caller and of an agent may differ. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * One sample. Counters (`cpu_seconds`, `network_…`) only grow, over pauses, hibernations and restarts of the agent; the
 * others are levels.
 */
export const metricsPoint = z.object({
  /** When it was taken: RFC 3339, UTC, milliseconds. */
  ts: z.string(),
  /** Counter: CPU time of the VM's process on the host, all vCPUs and the emulation of devices included. */
  cpu_seconds: z.number(),
  /**
   * What programs and the kernel of the guest use (total less available), by the guest's own word, at most the sandbox's
   * memory. `null`: the guest has not been asked in this interval; it is asked only when somebody reads `now`.
   */
  memory_guest_used_bytes: z.int().nullable(),
  /** Host memory that this VM shares with no other; 0 without a VM. */
  memory_host_private_bytes: z.int(),
  /** Host disk of the layers above the template's image: what the guest has written, as far as it is still kept. No volumes. */
  disk_bytes: z.int(),
  /** Counter: bytes to the guest. `null`: the host counts none, because guests have no network interface of their own on it. */
  network_in_bytes: z.int().nullable(),
  /** Counter: bytes from the guest, also those that the packet filter refused. */
  network_out_bytes: z.int().nullable(),
})
export type MetricsPoint = z.infer<typeof metricsPoint>

/** Answer of `GET /v1/sandboxes/{id}/metrics`. */
export const sandboxMetrics = z.object({
  /** Taken for this answer, at most a second ago; of a sandbox without a VM what was last known, and no host memory. */
  now: metricsPoint.extend({
    /** When the guest last told its memory: RFC 3339. `null`: never. It may be long ago when the guest is paused or does not answer. */
    memory_guest_used_ts: z.string().nullable(),
  }),
  /** As asked for. */
  step_seconds: z.int(),
  /** The last sample of each interval of `step_seconds`, oldest first; an interval without a sample has no point. */
  points: z.array(metricsPoint),
})
export type SandboxMetrics = z.infer<typeof sandboxMetrics>

const SINCE_REFUSED = 'since must be an RFC 3339 timestamp within the last hour'

/** Query of `GET /v1/sandboxes/{id}/metrics`. */
export const metricsQuery = z.object({
  /** The first moment of the answer's points, in milliseconds of Unix time; `undefined`: an hour ago. */
  since: z
    .string({ error: SINCE_REFUSED })
    .transform((text, context) => {
      const ms = parseTimestamp(text)
      const ageMs = Date.now() - (ms ?? Number.NaN)
      const isWithin = ageMs >= -CLOCK_TOLERANCE_MS && ageMs <= METRICS_HISTORY_SECONDS * 1000 + CLOCK_TOLERANCE_MS
      if (ms !== null && isWithin) return ms
      context.addIssue({ code: 'custom', message: SINCE_REFUSED })
      return z.NEVER
    })
    .optional(),
  /** Seconds from one point to the next. */
  step: queryInteger('step', SAMPLE_SECONDS, METRICS_HISTORY_SECONDS).default(DEFAULT_STEP_SECONDS),
})
export type MetricsQuery = z.output<typeof metricsQuery>

/** Sandboxes of one agent that are listed at most; an agent has no more VMs than this. */
export const MAX_LISTED_USAGE = 4096

/** One sandbox with a VM, as of its last sample. */
export const sandboxUsage = metricsPoint.extend({ sandbox_id: z.guid(), workspace_id: z.guid() })
export type SandboxUsage = z.infer<typeof sandboxUsage>

/** Answer of the agent's `GET /v1/agent/usage`, for control alone. */
export const agentUsage = z.object({
  /** Those with a VM, {@link MAX_LISTED_USAGE} at most. */
  sandboxes: z.array(
    sandboxUsage.extend({
      /** Counter: packets that the packet filter refused; `null` where there is none. */
      refused_packets: z.int().nullable(),
    }),
  ),
  /** How many more have a VM. */
  omitted: z.int(),
})
export type AgentUsage = z.infer<typeof agentUsage>
