import { z } from 'zod'

/** Default CPU weight per vCPU: a quarter of that of a process of the host. */
export const DEFAULT_CPU_WEIGHT = 100

/**
 * CPU, disk and network limits of one sandbox, from its workspace's plan (`plan.ts`). Control sends them to the agent
 * with create, fork and wake, and after a change of plan. `null` means unlimited.
 */
export const sandboxLimits = z.object({
  /** Relative CPU share per vCPU under contention: 200 gets twice the time of 100. A process of the host has 400. */
  cpu_weight: z.int().min(1).max(1000),
  /** Percent of one host CPU that the VM may use per vCPU. The VM's devices get 100 percent more. */
  cpu_percent: z.int().min(1).max(1000).nullable(),
  /** MiB/s of reads from all its disks together. */
  disk_read_mib_s: z.int().min(1).max(1_000_000).nullable(),
  /** MiB/s of writes to all its disks together. */
  disk_write_mib_s: z.int().min(1).max(1_000_000).nullable(),
  /** Reads and writes per second, together. */
  disk_iops: z.int().min(1).max(100_000_000).nullable(),
  /** Mbit/s in each direction. The agent's `guest_mbit` applies as well. */
  network_mbit: z.int().min(1).max(100_000).nullable(),
})
export type SandboxLimits = z.infer<typeof sandboxLimits>

/** The limits of a sandbox without explicit ones. */
export const NO_LIMITS: SandboxLimits = {
  cpu_weight: DEFAULT_CPU_WEIGHT,
  cpu_percent: null,
  disk_read_mib_s: null,
  disk_write_mib_s: null,
  disk_iops: null,
  network_mbit: null,
}
