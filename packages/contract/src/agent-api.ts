import { z } from 'zod'
import { diskRoom } from './agent-disk.ts'
import { agentAttachment, unreadableIds } from './agent-volume.ts'
import { event } from './event.ts'
import { bootMode, DEFAULT_IDLE_TIMEOUT_SECONDS, egress, sandboxStatus } from './sandbox.ts'
import { sandboxLimits } from './sandbox-limits.ts'
import { template } from './template.ts'
import { MAX_SANDBOX_VOLUMES } from './volume.ts'

/** What control and an agent say to one another (ARCHITECTURE.md, "Between control and agent"). */

/** One record of an agent's log: numbered from 1 without a gap, over all its sandboxes. */
export const agentRecord = z.object({
  seq: z.int(),
  /** The sandbox's own event number, from 1. */
  number: z.int(),
  /** `null` where the agent found a VM of which it has no manifest. */
  workspace_id: z.string().nullable(),
  event,
})
export type AgentRecord = z.infer<typeof agentRecord>

/** `tcg` is software emulation: everything works, at a fraction of the speed. */
export const accelerator = z.enum(['kvm', 'tcg'])
export type Accelerator = z.infer<typeof accelerator>

/**
 * What holds a guest that broke out into QEMU.
 * `user`: own uid per VM, no capabilities, seccomp, memory and process limits by cgroup.
 * `user-nolimits`: the same where the host gives no cgroup.
 * `process`: the agent is not root; seccomp alone.
 */
export const isolation = z.enum(['jail', 'jail-nolimits', 'user', 'user-nolimits', 'process'])
export type Isolation = z.infer<typeof isolation>

/** The control groups that weigh and cap the CPU time of each VM; `none`: all processes of the host share it as they come. */
export const cpuLimits = z.enum(['cgroup-v2', 'cgroup-v1', 'none'])
export type CpuLimits = z.infer<typeof cpuLimits>

/** `tap`: guests have a way out. `none`: this host gives them none, and `reason` says why. */
export const guestNetwork = z.object({ kind: z.enum(['tap', 'none']), reason: z.string().nullable() })
export type GuestNetworkInfo = z.infer<typeof guestNetwork>

/** Answer of `GET /v1/agent`. */
export const agentInfo = z.object({
  agent_id: z.string(),
  version: z.string(),
  accelerator,
  /** Why not KVM; `null` under KVM. */
  accelerator_reason: z.string().nullable().default(null),
  isolation,
  /** `null`: an agent that says nothing of it. */
  cpu_limits: cpuLimits.nullable().default(null),
  network: guestNetwork,
  qemu_version: z.string(),
  cpus: z.int(),
  /**
   * MiB. `available` is what the host could still give without swapping. `committed` is what all VMs may come to have, and
   * `commit_limit` how much that may be.
   */
  memory_mib: z.object({ total: z.int(), available: z.int(), committed: z.int(), commit_limit: z.int() }),
  /** `null`: the agent cannot tell, or is of a version without watermarks. */
  disk: diskRoom.nullable().default(null),
  /** Baked and ready to be restored. */
  templates: z.array(template),
  sandboxes: z.int(),
  /** Restored guests that wait for their sandbox. */
  spares: z.int(),
  last_seq: z.int(),
  /** Whose control it lets delete; `null` before the first one asked, absent of an agent that knows no clusters. */
  cluster_id: z.uuid().nullable().optional(),
})
export type AgentInfo = z.infer<typeof agentInfo>

/**
 * Body of the agent's `PUT /v1/agent/cluster`: the database of this control, which the agent keeps. An agent that has another one
 * answers 409, unless an operator has it taken over. Credentials name the cluster too (`cluster_id`): one that names another
 * deletes nothing.
 */
export const agentClusterBody = z.object({ cluster_id: z.uuid(), take_over: z.boolean().default(false) })

/** Body of the agent's `POST /v1/sandboxes`; the workspace is in the credential. */
export const createOnAgentBody = z.object({
  id: z.uuid(),
  /** With `snapshot_id`, the snapshot's. */
  template: z.string(),
  /** With `snapshot_id` and empty: the guest keeps the variables it had. */
  env: z.record(z.string(), z.string()),
  /** Boots from this one of the agent's snapshots; unknown or of another workspace: 404. */
  snapshot_id: z.uuid().optional(),
  /** Its disk alone, booted as after a power cut. Needs `snapshot_id`, of a durable sandbox. */
  without_memory: z.boolean().default(false),
  /** Its block devices, in their order. Unknown or of another workspace: 404; somebody else has one: 409. */
  volumes: z.array(agentAttachment).max(MAX_SANDBOX_VOLUMES).default([]),
  /** Hibernates when idle. */
  persistent: z.boolean().default(false),
  idle_timeout_seconds: z.int().min(1).default(DEFAULT_IDLE_TIMEOUT_SECONDS),
  egress: egress.default('internet'),
  /** Absent: none. */
  limits: sandboxLimits.optional(),
})
export type CreateOnAgentBody = z.input<typeof createOnAgentBody>

/** A sandbox as its agent knows it. */
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
  /** The snapshot it was restored from: one that a user took, or its fork's. */
  from_snapshot: z.string().nullable(),
  /** The sandbox it was forked from; `null` once it was promoted. */
  parent_id: z.string().nullable(),
  fork_tree_id: z.string().nullable(),
  /** Number of the last record about this sandbox. */
  last_seq: z.int(),
  /** In the answer of a wake: it was booted from its disk, because what was in its memory could not be restored. */
  cold: z.literal(true).optional(),
})
export type AgentSandbox = z.infer<typeof agentSandbox>

/** Answer of the agent's `GET /v1/sandboxes`: true when the log stood at `last_seq`. */
export const agentSandboxList = z.object({
  last_seq: z.int(),
  sandboxes: z.array(agentSandbox),
  unreadable: unreadableIds,
})
export type AgentSandboxList = z.infer<typeof agentSandboxList>

/** Answer of the agent's `GET` and `PATCH /v1/sandboxes/{id}/lifecycle`; reading it wakes nothing and is no activity. */
export const agentLifecycle = z.object({
  persistent: z.boolean(),
  idle_timeout_seconds: z.int(),
  /** Whole seconds since something was last under way in the sandbox; 0 while something is. */
  idle_seconds: z.int(),
})
export type AgentLifecycle = z.infer<typeof agentLifecycle>

/** Body of the agent's `PATCH /v1/sandboxes/{id}/lifecycle`; what is absent stays. */
export const agentLifecyclePatch = z.object({
  persistent: z.boolean().optional(),
  idle_timeout_seconds: z.int().min(1).optional(),
  /** All of them: one that runs has them at once, any other when it runs again. */
  limits: sandboxLimits.optional(),
})
export type AgentLifecyclePatch = z.infer<typeof agentLifecyclePatch>

/** Body of the agent's `POST /v1/sandboxes/{id}/wake`. */
export const wakeOnAgentBody = z.object({
  /** In the place of those that it had; absent: those. */
  limits: sandboxLimits.optional(),
})
export type WakeOnAgentBody = z.infer<typeof wakeOnAgentBody>

/** Body of the agent's `POST /v1/sandboxes/{id}/snapshots` → 201 {@link agentSnapshot}. */
export const snapshotOnAgentBody = z.object({ id: z.uuid() })
export type SnapshotOnAgentBody = z.infer<typeof snapshotOnAgentBody>

/** Memory, devices and disk of one instant of one sandbox. */
export const agentSnapshot = z.object({
  id: z.string(),
  workspace_id: z.string(),
  /** It may be gone by now. */
  sandbox_id: z.string(),
  template: z.string(),
  cpu: z.int(),
  memory_mb: z.int(),
  /** Bytes on the agent's disk that are this snapshot's own. */
  size_bytes: z.int(),
  created_at: z.string(),
  /** `fork`: made for the children of a fork, and deleted by control when none is left. `template`: a template's, gone with it. */
  origin: z.enum(['user', 'fork', 'template']),
})
export type AgentSnapshot = z.infer<typeof agentSnapshot>

/** Answer of the agent's `GET /v1/snapshots`: every whole snapshot that is not deleted, but those of templates. */
export const agentSnapshotList = z.object({
  last_seq: z.int(),
  snapshots: z.array(agentSnapshot),
  unreadable: unreadableIds,
})
export type AgentSnapshotList = z.infer<typeof agentSnapshotList>

/** Children of one fork at most. */
export const MAX_FORK_CHILDREN = 16

/** Body of the agent's `POST /v1/sandboxes/{id}/fork`; every id is chosen by control, whose rows are there before. */
export const forkOnAgentBody = z.object({
  snapshot_id: z.uuid(),
  /** Absent for a single fork. */
  tree_id: z.uuid().optional(),
  children: z
    .array(z.object({ id: z.uuid(), index: z.int().min(0) }))
    .min(1)
    .max(MAX_FORK_CHILDREN),
  /** Of each child; absent: the parent's. */
  limits: sandboxLimits.optional(),
})
export type ForkOnAgentBody = z.infer<typeof forkOnAgentBody>

/**
 * Answer 201 of the agent's `POST /v1/sandboxes/{id}/fork`: also when children failed, even all of them. Any other
 * status: the parent could not be captured, and there is neither snapshot nor child.
 */
export const agentFork = z.object({
  snapshot: agentSnapshot,
  children: z.array(agentSandbox),
  /** Nothing is left of these children. `status`: what a create would have been answered with. */
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

/** Answer of the agent's `GET /v1/sandboxes/{id}/listeners`: ports that accept connections, ascending. Wakes nothing. */
export const agentListeners = z.object({ ports: z.array(z.int()) })
export type AgentListeners = z.infer<typeof agentListeners>

/**
 * Protocol of `GET /v1/sandboxes/{id}/ports/{port}/stream`: after 101 the connection is the TCP connection to that port inside the
 * sandbox, each direction ended by itself. A hibernated sandbox is woken first.
 */
export const PORT_STREAM_PROTOCOL = 'offshoot-tcp'

/** Workspaces on one agent's list at most. */
export const MAX_SPENT_WORKSPACES = 100_000

/**
 * Body of the agent's `PUT /v1/agent/spent-credit` → 204: all workspaces whose free credit is spent, in place of those it was
 * told before. Until then nothing of theirs is created, resumed or woken: 402.
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
