import { z } from 'zod'
import { parseTimestamp, queryInteger } from './query-fields.ts'

/** Seconds between two samples of a sandbox that has a VM; the smallest `step`. */
export const SAMPLE_SECONDS = 10
/** Seconds of samples that an agent keeps per sandbox; the earliest `since`. */
export const METRICS_HISTORY_SECONDS = 3600
const DEFAULT_STEP_SECONDS = 60
/** Tolerated clock skew between caller and agent, in milliseconds. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * One sample. Counters (`cpu_seconds`, `network_…`) only grow, also across pauses, hibernations and agent restarts. The
 * other fields are gauges.
 */
export const metricsPoint = z.object({
  /** Time of the sample: RFC 3339, UTC, milliseconds. */
  ts: z.string(),
  /** Counter: CPU time of the QEMU process on the host, including all vCPUs and device emulation. */
  cpu_seconds: z.number(),
  /**
   * Memory used in the guest (total less available), as the guest reports it; at most the sandbox's memory. `null`: the
   * agent did not ask the guest in this interval. It asks only when a client reads `now`.
   */
  memory_guest_used_bytes: z.int().nullable(),
  /** Host memory that the VM shares with no other VM; 0 without a VM. */
  memory_host_private_bytes: z.int(),
  /** Host disk space of the layers above the template's image: the guest's own writes, without volumes. */
  disk_bytes: z.int(),
  /** Counter: bytes to the guest. `null` if the guests of the host have no network interface that it could count. */
  network_in_bytes: z.int().nullable(),
  /** Counter: bytes from the guest, including packets that the packet filter dropped. */
  network_out_bytes: z.int().nullable(),
})
export type MetricsPoint = z.infer<typeof metricsPoint>

/** Answer of `GET /v1/sandboxes/{id}/metrics`. */
export const sandboxMetrics = z.object({
  /**
   * Sampled for this answer, at most one second old. For a sandbox without a VM: the last known values, and no host
   * memory.
   */
  now: metricsPoint.extend({
    /**
     * When the guest last reported its memory: RFC 3339; `null`: never. May be old if the guest is paused or does not
     * respond.
     */
    memory_guest_used_ts: z.string().nullable(),
  }),
  /** The requested step. */
  step_seconds: z.int(),
  /** The last sample of each interval of `step_seconds`, oldest first. Intervals without a sample are left out. */
  points: z.array(metricsPoint),
})
export type SandboxMetrics = z.infer<typeof sandboxMetrics>

const SINCE_REFUSED = 'since must be an RFC 3339 timestamp within the last hour'

/** Query of `GET /v1/sandboxes/{id}/metrics`. */
export const metricsQuery = z.object({
  /** Start of the points, in Unix milliseconds. Default: one hour ago. */
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
  /** Seconds between two points. */
  step: queryInteger('step', SAMPLE_SECONDS, METRICS_HISTORY_SECONDS).default(DEFAULT_STEP_SECONDS),
})
export type MetricsQuery = z.output<typeof metricsQuery>

/** Maximum sandboxes in the list; an agent cannot have more VMs. */
export const MAX_LISTED_USAGE = 4096

/** The last sample of a sandbox that has a VM. */
export const sandboxUsage = metricsPoint.extend({ sandbox_id: z.guid(), workspace_id: z.guid() })
export type SandboxUsage = z.infer<typeof sandboxUsage>

/** Answer of the agent's `GET /v1/agent/usage`, for control only. */
export const agentUsage = z.object({
  /** Sandboxes that have a VM, at most {@link MAX_LISTED_USAGE}. */
  sandboxes: z.array(
    sandboxUsage.extend({
      /** Counter: packets that the packet filter dropped; `null` without a packet filter. */
      refused_packets: z.int().nullable(),
    }),
  ),
  /** Number of further sandboxes with a VM. */
  omitted: z.int(),
})
export type AgentUsage = z.infer<typeof agentUsage>
