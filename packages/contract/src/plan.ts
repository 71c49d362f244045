import { z } from 'zod'
import { NO_LIMITS, type SandboxLimits } from './sandbox-limits.ts'

/** Every plan a workspace can be on. `self-hosted` is the operator's own: no cap, no credit, no bill. */
export const planName = z.enum(['free', 'pro', 'team', 'enterprise', 'self-hosted'])
export type PlanName = z.infer<typeof planName>

/** What a workspace may have. `null` is no limit. */
export interface Plan {
  /** Workspaces that a user may own, by the best plan among them. */
  readonly orgs: number | null
  /** Members of the workspace, its owner and open invitations included. */
  readonly seats: number | null
  /** Sandboxes that hold a slot: creating, running, paused or hibernated. */
  readonly sandboxes: number | null
  /** Creates, forks' children included, within any 3600 s. */
  readonly createsPerHour: number | null
  /** vCPUs of those sandboxes together. */
  readonly cpu: number | null
  /** MiB of memory of those sandboxes together. */
  readonly memoryMib: number | null
  /** vCPU-seconds of running sandboxes in a calendar month (UTC). */
  readonly monthlyCpuSeconds: number | null
  /** Micro-dollars of usage in a calendar month, beyond which nothing new is made; what runs goes on. */
  readonly monthlyBudgetMicroUsd: number | null
  /** Micro-dollars of usage in a calendar month, after which compute stops; granted credit comes on top. `null`: compute goes on, and its usage is shown but not charged for. */
  readonly monthlyCreditMicroUsd: number | null
  readonly volumes: {
    readonly count: number | null
    /** MiB of one volume; the hard ceiling holds for every plan. */
    readonly sizeMib: number
    /** MiB of all volumes together that the plan's price includes; what is provisioned beyond is reported to the payment provider, and nothing else is. */
    readonly includedMib: number | null
  }
  /** How fast each of its sandboxes may be. */
  readonly sandboxLimits: SandboxLimits
}

/** MiB of one volume on any plan: 64 GiB. */
export const MAX_VOLUME_MIB = 65_536

/**
 * The specification gives the free credit and the volumes; the rest is our choice: wide enough that a person at work
 * never meets it, narrow enough that a stolen key or a loop that went wrong ends early.
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
    sandboxLimits: NO_LIMITS,
  },
}

/** Of the workspace, or of the best of a user's: plans in the order in which they allow more. */
export function bestPlan(names: readonly PlanName[]): PlanName {
  return planName.options.findLast((name) => names.includes(name)) ?? 'free'
}
