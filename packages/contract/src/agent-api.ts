import { z } from 'zod'
import { diskRoom } from './agent-disk.ts'
import { attemptId } from './agent-attempt.ts'
import { leaseState } from './agent-lease.ts'
import { agentMove } from './agent-move.ts'
import { agentAttachment, unreadableIds } from './agent-volume.ts'
import { event } from './event.ts'
import { bootMode, DEFAULT_IDLE_TIMEOUT_SECONDS, egress, sandboxStatus, visibility } from './sandbox.ts'
import { sandboxLimits } from './sandbox-limits.ts'
import { agentTemplate } from './template.ts'
import { MAX_SANDBOX_VOLUMES } from './volume.ts'

/** Schemas of the routes between control and an agent (docs/internal-api.md). */

/** One record of an agent's event log. `seq` starts at 1, has no gaps, and counts across all sandboxes of the agent. */
export const agentRecord = z.object({
  seq: z.int(),
  /** Number of the event within its sandbox, from 1. */
  number: z.int(),
  /** `null` if the agent found a VM without a manifest. */
  workspace_id: z.string().nullable(),
  event,
})
export type AgentRecord = z.infer<typeof agentRecord>

/** `tcg` is software emulation: all features work, but computation is 10 to 20 times slower than on the host. */
export const accelerator = z.enum(['kvm', 'tcg'])
export type Accelerator = z.infer<typeof accelerator>

/**
 * How the host confines a QEMU process that a guest has taken over.
 * - `jail`: namespaces, a private root, an own uid, no capabilities, seccomp, and cgroup limits.
 * - `user`: an own uid per VM, no capabilities, seccomp, and cgroup limits on memory and processes.
 * - `jail-nolimits`, `user-nolimits`: the same without cgroup limits, because the host offers no cgroup.
 * - `process`: seccomp alone, because the agent is not root.
 */
export const isolation = z.enum(['jail', 'jail-nolimits', 'user', 'user-nolimits', 'process'])
export type Isolation = z.infer<typeof isolation>

/**
 * The cgroup version that weighs and caps each VM's CPU time. `none`: VMs compete with all other processes of the host.
 */
export const cpuLimits = z.enum(['cgroup-v2', 'cgroup-v1', 'none'])
export type CpuLimits = z.infer<typeof cpuLimits>

/** `tap`: guests can reach the internet. `none`: guests have no network, and `reason` says why. */
export const guestNetwork = z.object({ kind: z.enum(['tap', 'none']), reason: z.string().nullable() })
export type GuestNetworkInfo = z.infer<typeof guestNetwork>

/** Answer of `GET /v1/agent`. */
export const agentInfo = z.object({
  agent_id: z.string(),
  version: z.string(),
  accelerator,
  /** Why the agent does not use KVM; `null` under KVM. */
  accelerator_reason: z.string().nullable().default(null),
  isolation,
  /** `null` if the agent's version does not report it. */
  cpu_limits: cpuLimits.nullable().default(null),
  network: guestNetwork,
  qemu_version: z.string(),
  cpus: z.int(),
  /**
   * All in MiB. `available`: what the host could give without swapping. `committed`: the most that all VMs together may
   * use. `commit_limit`: the upper limit of `committed`.
   */
  memory_mib: z.object({ total: z.int(), available: z.int(), committed: z.int(), commit_limit: z.int() }),
  /** `null` if the agent cannot read the file system, or if its version has no watermarks. */
  disk: diskRoom.nullable().default(null),
  /** The templates that are baked and can be restored. */
  templates: z.array(agentTemplate),
  sandboxes: z.int(),
  /** Restored VMs in the warm pool. */
  spares: z.int(),
  last_seq: z.int(),
  /**
   * The cluster whose control may delete objects here. `null` until a control has claimed the agent. Absent from agents
   * of older versions.
   */
  cluster_id: z.uuid().nullable().optional(),
  /** Absent from agents of older versions. */
  lease: leaseState.optional(),
})
export type AgentInfo = z.infer<typeof agentInfo>

/**
 * Body of the agent's `PUT /v1/agent/cluster`. The agent stores the id of this control's database. It answers 409 if it
 * already belongs to another cluster, unless an operator sets `take_over`. Each credential names the cluster too
 * (`cluster_id`); a credential of another cluster cannot delete anything.
 */
export const agentClusterBody = z.object({ cluster_id: z.uuid(), take_over: z.boolean().default(false) })

/** Body of the agent's `POST /v1/sandboxes`. The credential names the workspace. */
export const createOnAgentBody = z.object({
  id: z.uuid(),
  /** Ignored with `snapshot_id`: the snapshot's template applies. */
  template: z.string(),
  /** If empty and `snapshot_id` is set, the guest keeps its earlier variables. */
  env: z.record(z.string(), z.string()),
  /** Restores this snapshot of the agent. 404 if it is unknown or belongs to another workspace. */
  snapshot_id: z.uuid().optional(),
  /** Boots from the disk of the snapshot of a durable sandbox and ignores its memory, as after a power cut. */
  without_memory: z.boolean().default(false),
  /**
   * Block devices, in this order. 404 if a volume is unknown or of another workspace; 409 if another sandbox has it
   * attached.
   */
  volumes: z.array(agentAttachment).max(MAX_SANDBOX_VOLUMES).default([]),
  /** Hibernates when idle. */
  persistent: z.boolean().default(false),
  idle_timeout_seconds: z.int().min(1).default(DEFAULT_IDLE_TIMEOUT_SECONDS),
  egress: egress.default('internet'),
  /** `private`: the edge opens a port only for a visitor whom it has admitted (`ADMITTED_HEADER`). */
  visibility: visibility.default('public'),
  /** Default: no limits. */
  limits: sandboxLimits.optional(),
  attempt_id: attemptId,
})
export type CreateOnAgentBody = z.input<typeof createOnAgentBody>

/** A sandbox as its agent reports it. */
export const agentSandbox = z.object({
  id: z.string(),
  workspace_id: z.string(),
  template: z.string(),
  status: sandboxStatus,
  boot_ms: z.int().nullable(),
  boot_mode: bootMode.nullable(),
  guest_ip: z.string().nullable(),
  cpu: z.int(),
  memory_mb: z.int(),
  /** The snapshot that the sandbox was restored from: a user's, or the one that a fork made. */
  from_snapshot: z.string().nullable(),
  /** The sandbox that this one was forked from; `null` if it is no fork, and after promotion. */
  parent_id: z.string().nullable(),
  fork_tree_id: z.string().nullable(),
  /** Absent from agents of older versions. */
  visibility: visibility.default('public'),
  /** `seq` of the last record about this sandbox. */
  last_seq: z.int(),
  /**
   * Set in the answer of a wake if the agent booted the sandbox from its disk, because it could not restore the memory.
   */
  cold: z.literal(true).optional(),
  /** Set while the sandbox moves to another host, or arrives from one. */
  move: agentMove.optional(),
})
export type AgentSandbox = z.infer<typeof agentSandbox>

/** Answer of the agent's `GET /v1/sandboxes`. The list is consistent with the event log up to `last_seq`. */
export const agentSandboxList = z.object({
  last_seq: z.int(),
  sandboxes: z.array(agentSandbox),
  unreadable: unreadableIds,
})
export type AgentSandboxList = z.infer<typeof agentSandboxList>

/**
 * Answer of the agent's `GET` and `PATCH /v1/sandboxes/{id}/lifecycle`. A read neither wakes the sandbox nor counts as
 * activity.
 */
export const agentLifecycle = z.object({
  persistent: z.boolean(),
  idle_timeout_seconds: z.int(),
  /** Whole seconds since the last activity; 0 during activity. */
  idle_seconds: z.int(),
  /** Absent from agents of older versions, which serve every port to everybody. */
  visibility: visibility.default('public'),
})
export type AgentLifecycle = z.infer<typeof agentLifecycle>

/** Body of the agent's `PATCH /v1/sandboxes/{id}/lifecycle`. Absent fields keep their values. */
export const agentLifecyclePatch = z.object({
  persistent: z.boolean().optional(),
  idle_timeout_seconds: z.int().min(1).optional(),
  /** `private` ends the edge's connections for visitors whom it has not admitted. */
  visibility: visibility.optional(),
  /** Replaces all limits. A running sandbox gets them at once, any other at its next start. */
  limits: sandboxLimits.optional(),
})
export type AgentLifecyclePatch = z.infer<typeof agentLifecyclePatch>

/** Body of the agent's `POST /v1/sandboxes/{id}/hibernate`. */
export const hibernateOnAgentBody = z.object({
  /** `false`: the memory is not kept, and the next wake boots from the disk. */
  memory: z.boolean().default(true),
})
export type HibernateOnAgentBody = z.input<typeof hibernateOnAgentBody>

/** Body of the agent's `POST /v1/sandboxes/{id}/wake`. */
export const wakeOnAgentBody = z.object({
  /** Replaces the sandbox's limits. Absent: they stay. */
  limits: sandboxLimits.optional(),
})
export type WakeOnAgentBody = z.infer<typeof wakeOnAgentBody>

/** Body of the agent's `POST /v1/sandboxes/{id}/snapshots` → 201 {@link agentSnapshot}. */
export const snapshotOnAgentBody = z.object({ id: z.uuid() })
export type SnapshotOnAgentBody = z.infer<typeof snapshotOnAgentBody>

/** The memory, devices and disk of one sandbox at one instant. */
export const agentSnapshot = z.object({
  id: z.string(),
  workspace_id: z.string(),
  /** The sandbox may be deleted by now. */
  sandbox_id: z.string(),
  template: z.string(),
  cpu: z.int(),
  memory_mb: z.int(),
  /** Bytes on the agent's disk that only this snapshot uses. */
  size_bytes: z.int(),
  created_at: z.string(),
  /**
   * - `user`: a user took it.
   * - `fork`: made for the children of a fork. Control deletes it when the last child is gone.
   * - `template`: belongs to a template, and is deleted with it.
   */
  origin: z.enum(['user', 'fork', 'template']),
})
export type AgentSnapshot = z.infer<typeof agentSnapshot>

/** Answer of the agent's `GET /v1/snapshots`: all complete snapshots, without those of templates and deleted ones. */
export const agentSnapshotList = z.object({
  last_seq: z.int(),
  snapshots: z.array(agentSnapshot),
  unreadable: unreadableIds,
})
export type AgentSnapshotList = z.infer<typeof agentSnapshotList>

/** Maximum children of one fork. */
export const MAX_FORK_CHILDREN = 16

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/fork`. Control chooses every id, and inserts the rows before it asks.
 */
export const forkOnAgentBody = z.object({
  snapshot_id: z.uuid(),
  /** Absent for a single fork. */
  tree_id: z.uuid().optional(),
  children: z
    .array(z.object({ id: z.uuid(), index: z.int().min(0) }))
    .min(1)
    .max(MAX_FORK_CHILDREN),
  /** Of each child. Default: the parent's. */
  visibility: visibility.optional(),
  /** Limits of each child. Default: the parent's. */
  limits: sandboxLimits.optional(),
})
export type ForkOnAgentBody = z.infer<typeof forkOnAgentBody>

/**
 * Answer 201 of the agent's `POST /v1/sandboxes/{id}/fork`, even if some or all children failed. Any other status means
 * that the agent could not capture the parent; then neither the snapshot nor any child exists.
 */
export const agentFork = z.object({
  snapshot: agentSnapshot,
  children: z.array(agentSandbox),
  /** Children that failed and left nothing behind. `status` is what a create would have answered. */
  errors: z.array(z.object({ index: z.int(), id: z.string(), error: z.string(), status: z.int() })),
})
export type AgentFork = z.infer<typeof agentFork>

/** Body of the agent's `POST /v1/sandboxes/{id}/promote` → 200 {@link agentSandbox}, without its `parent_id`. */
export const promoteOnAgentBody = z.object({
  tree_id: z.uuid(),
  /** Ids of the siblings that were deleted, for the event. */
  deleted: z.array(z.uuid()),
})
export type PromoteOnAgentBody = z.infer<typeof promoteOnAgentBody>

/**
 * Answer of the agent's `GET /v1/sandboxes/{id}/listeners`: ports that accept connections, ascending. Does not wake the
 * sandbox.
 */
export const agentListeners = z.object({ ports: z.array(z.int()) })
export type AgentListeners = z.infer<typeof agentListeners>

/** Maximum workspaces in one list. */
export const MAX_SPENT_WORKSPACES = 100_000

/**
 * Body of the agent's `PUT /v1/agent/spent-credit` → 204. It replaces the list of workspaces whose free credit is
 * spent. The agent answers 402 to every create, resume and wake of such a workspace until the given time.
 */
export const spentCreditBody = z.object({
  workspaces: z
    .array(
      z.object({
        workspace_id: z.uuid(),
        credit_usd: z.number(),
        cost_usd_used: z.number(),
        /** RFC 3339. */
        until: z.iso.datetime(),
      }),
    )
    .max(MAX_SPENT_WORKSPACES),
})
export type SpentCreditBody = z.infer<typeof spentCreditBody>
