import { z } from 'zod'

/** Share of a VM that names none: as much for each vCPU as any other process of the host. */
export const DEFAULT_CPU_WEIGHT = 100

/**
 * How fast one sandbox may be, by its workspace's plan (`plan.ts`). Control sends it to the agent with create, fork and
 * wake, and when the plan changes. `null` is no limit.
 */
export const sandboxLimits = z.object({
  /** Share of the host's CPU time for each vCPU where CPU time is scarce: twice as much gets twice the time. 100: as other processes. */
  cpu_weight: z.int().min(1).max(1000),
  /** Percent of one host CPU that its VM may use for each vCPU; 100 more are for the VM's devices. */
  cpu_percent: z.int().min(1).max(1000).nullable(),
  /** MiB a second that it may read from all its disks together. */
  disk_read_mib_s: z.int().min(1).max(1_000_000).nullable(),
  /** MiB a second that it may write to them. */
  disk_write_mib_s: z.int().min(1).max(1_000_000).nullable(),
  /** Reads and writes a second, together. */
  disk_iops: z.int().min(1).max(100_000_000).nullable(),
  /** Megabits a second that it may send, and as many that it may get. The agent's `guest_mbit` holds for every sandbox beside it. */
  network_mbit: z.int().min(1).max(100_000).nullable(),
})
export type SandboxLimits = z.infer<typeof sandboxLimits>

/** Of a sandbox for which nobody has named any. */
export const NO_LIMITS: SandboxLimits = {
  cpu_weight: DEFAULT_CPU_WEIGHT,
  cpu_percent: null,
  disk_read_mib_s: null,
  disk_write_mib_s: null,
  disk_iops: null,
  network_mbit: null,
}
