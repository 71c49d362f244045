import { z } from 'zod'
import { NO_LIMITS, type SandboxLimits } from './sandbox-limits.ts'

/** Every plan. `self-hosted` is the operator's own: no limits, no credit, no bill. */
export const planName = z.enum(['free', 'pro', 'team', 'enterprise', 'self-hosted'])
export type PlanName = z.infer<typeof planName>

/** Limits of a workspace. `null` means unlimited. */
export interface Plan {
  /** Workspaces that a user may own. The best plan among the user's workspaces counts. */
  readonly orgs: number | null
  /** Members, including the owner and pending invitations. */
  readonly seats: number | null
  /** Sandboxes that hold a slot: creating, running, paused or hibernated. */
  readonly sandboxes: number | null
  /** Creates within any 3600 s, including children of forks. */
  readonly createsPerHour: number | null
  /** vCPUs of all those sandboxes. */
  readonly cpu: number | null
  /** MiB of memory of all those sandboxes. */
  readonly memoryMib: number | null
  /** vCPU-seconds of running sandboxes in a calendar month (UTC). */
  readonly monthlyCpuSeconds: number | null
  /** Micro-dollars of usage per calendar month. Beyond it the service refuses creates; running sandboxes continue. */
  readonly monthlyBudgetMicroUsd: number | null
  /**
   * Micro-dollars of usage per calendar month, after which compute stops. Granted credit is added. `null`: compute
   * continues, and its usage is shown but not charged.
   */
  readonly monthlyCreditMicroUsd: number | null
  readonly volumes: {
    readonly count: number | null
    /** Maximum MiB of one volume. {@link MAX_VOLUME_MIB} also applies. */
    readonly sizeMib: number
    /**
     * MiB of volumes that the plan's price includes. Provisioned storage beyond it is reported to the payment provider;
     * nothing else is.
     */
    readonly includedMib: number | null
  }
  /** Webhooks. Each counts, also while it is disabled. */
  readonly webhooks: number
  /** CPU, disk and network limits of each sandbox. */
  readonly sandboxLimits: SandboxLimits
}

/** Maximum MiB of one volume on any plan: 64 GiB. */
export const MAX_VOLUME_MIB = 65_536

/**
 * The specification sets the free credit and the volumes. The other limits are ours: a person never reaches them, but
 * they stop a stolen key or a runaway loop early.
 */
export const PLANS: Readonly<Record<PlanName, Plan>> = {
  free: {
    orgs: 1,
    seats: 1,
    sandboxes: 10,
    createsPerHour: 100,
    cpu: 10,
    memoryMib: 16 * 1024,
    monthlyCpuSeconds: 360_000,
    monthlyBudgetMicroUsd: null,
    monthlyCreditMicroUsd: 5_400_000,
    volumes: { count: 1, sizeMib: 1024, includedMib: 1024 },
    webhooks: 3,
    sandboxLimits: {
      cpu_weight: 50,
      cpu_percent: 100,
      disk_read_mib_s: 200,
      disk_write_mib_s: 100,
      disk_iops: 10_000,
      network_mbit: 200,
    },
  },
  pro: {
    orgs: 5,
    seats: 5,
    sandboxes: 100,
    createsPerHour: 2_000,
    cpu: 200,
    memoryMib: 400 * 1024,
    monthlyCpuSeconds: 20_000_000,
    monthlyBudgetMicroUsd: 1_000_000_000,
    monthlyCreditMicroUsd: null,
    volumes: { count: 10, sizeMib: 10 * 1024, includedMib: 10 * 1024 },
    webhooks: 10,
    sandboxLimits: {
      cpu_weight: 100,
      cpu_percent: 100,
      disk_read_mib_s: 400,
      disk_write_mib_s: 200,
      disk_iops: 20_000,
      network_mbit: 500,
    },
  },
  team: {
    orgs: 20,
    seats: 50,
    sandboxes: 500,
    createsPerHour: 10_000,
    cpu: 1_000,
    memoryMib: 2_000 * 1024,
    monthlyCpuSeconds: 200_000_000,
    monthlyBudgetMicroUsd: 10_000_000_000,
    monthlyCreditMicroUsd: null,
    volumes: { count: 50, sizeMib: 50 * 1024, includedMib: 50 * 1024 },
    webhooks: 20,
    sandboxLimits: {
      cpu_weight: 150,
      cpu_percent: 100,
      disk_read_mib_s: 800,
      disk_write_mib_s: 400,
      disk_iops: 40_000,
      network_mbit: 1_000,
    },
  },
  enterprise: {
    orgs: null,
    seats: null,
    sandboxes: null,
    createsPerHour: null,
    cpu: null,
    memoryMib: null,
    monthlyCpuSeconds: null,
    monthlyBudgetMicroUsd: null,
    monthlyCreditMicroUsd: null,
    volumes: { count: null, sizeMib: MAX_VOLUME_MIB, includedMib: 1024 * 1024 },
    webhooks: 50,
    sandboxLimits: { ...NO_LIMITS, cpu_weight: 200 },
  },
  'self-hosted': {
    orgs: null,
    seats: null,
    sandboxes: null,
    createsPerHour: null,
    cpu: null,
    memoryMib: null,
    monthlyCpuSeconds: null,
    monthlyBudgetMicroUsd: null,
    monthlyCreditMicroUsd: null,
    volumes: { count: null, sizeMib: MAX_VOLUME_MIB, includedMib: null },
    webhooks: 50,
    sandboxLimits: NO_LIMITS,
  },
}

/** Returns the highest of several plans; `planName` lists them in ascending order. */
export function bestPlan(names: readonly PlanName[]): PlanName {
  return planName.options.findLast((name) => names.includes(name)) ?? 'free'
}
