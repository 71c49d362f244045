import { randomUUID } from 'node:crypto'
import type {
  AgentLifecyclePatch,
  AgentRecord,
  AgentSandbox,
  AgentSnapshot,
  SpentCreditBody,
} from '@offshoot/contract/agent-api'
import type { QuarantineEntry } from '@offshoot/contract/agent-quarantine'
import type { AgentDisk, DiskState } from '@offshoot/contract/agent-disk'
import type { EventType } from '@offshoot/contract/event'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import { FakeBuilds } from './fake-builds.ts'
import { FakeLease } from './fake-lease.ts'
import type { AgentAttachment, AgentVolume } from '@offshoot/contract/agent-volume'

/** The size of every sandbox. */
export const FAKE_SIZE = { cpu: 1, memory_mb: 512 } as const

/** How a sandbox was made. */
export type FakeOrigin = Partial<
  Pick<AgentSandbox, 'boot_mode' | 'from_snapshot' | 'parent_id' | 'fork_tree_id' | 'visibility'>
>

/** A VM as a create makes it. */
export function fakeSandbox(id: string, workspaceId: string, template: string, origin: FakeOrigin): AgentSandbox {
  return {
    id,
    workspace_id: workspaceId,
    template,
    status: 'running',
    boot_ms: 80,
    boot_mode: 'snapshot',
    guest_ip: '10.0.2.15',
    ...FAKE_SIZE,
    from_snapshot: null,
    parent_id: null,
    fork_tree_id: null,
    visibility: 'public',
    ...origin,
    last_seq: 0,
  }
}

export const STATUS_AFTER: Partial<Record<EventType, SandboxStatus>> = {
  'sandbox.paused': 'paused',
  'sandbox.resumed': 'running',
  'sandbox.hibernated': 'hibernated',
  'sandbox.woken': 'running',
  'vm.died': 'failed',
  'recover.orphaned': 'failed',
}

/** The disk of every agent. */
export const FAKE_DISK: Omit<AgentDisk, 'free_bytes'> = {
  total_bytes: 8 * 1024 ** 4,
  bakes_bytes: 1,
  layers_bytes: 1,
  snapshots_bytes: 0,
  sandboxes_bytes: 1,
  volumes_bytes: 1,
  templates_bytes: 1,
  builds_bytes: 1,
}

/** A file of an archive. */
export interface FakeFile {
  readonly content: Buffer
  readonly takenAt: string
}

/** What a real agent has on disk. */
export class FakeAgentState {
  readonly builds = new FakeBuilds()
  readonly lease = new FakeLease()
  readonly agentId: string
  constructor(agentId: string = randomUUID()) {
    this.agentId = agentId
  }

  /** The cluster that the agent obeys. */
  clusterId: string | null = null
  readonly sandboxes = new Map<string, AgentSandbox>()
  readonly snapshots = new Map<string, AgentSnapshot>()
  readonly volumes = new Map<string, AgentVolume>()
  /** The files of the archives of databases, by sandbox and name. */
  readonly archives = new Map<string, Map<string, FakeFile>>()
  /** Whether it stores archives by itself, as the first host of a service. */
  storesArchives = false
  /**
   * Ids of sandboxes, snapshots and volumes whose records the agent cannot read. All of its lists contain all of them.
   */
  readonly unreadable = new Set<string>()
  readonly quarantine = new Map<string, QuarantineEntry>()
  /** By sandbox, also after the sandbox is gone. */
  readonly attached = new Map<string, readonly AgentAttachment[]>()
  /** The latest settings received, by sandbox. */
  readonly lifecycles = new Map<string, AgentLifecyclePatch>()
  readonly records: AgentRecord[] = []
  /** The bake of every sandbox here, and the bakes that the host has. */
  readonly bake = 'b'.repeat(64)
  readonly bakes = new Set<string>()
  /** Snapshots of which the host has the disk only. */
  readonly withoutMemory = new Set<string>()
  /** Whether its version can export a bake alone. */
  knowsOnly = true
  /** Why no sandbox can move from here. */
  cannotMove: string | null = null
  /** Free bytes of its disk. */
  freeBytes = 1024 ** 4
  diskState: DiskState = 'ok'
  /** Answer of `GET /v1/agent/usage`. */
  usage: unknown = { sandboxes: [], omitted: 0 }
  /** The latest list received. */
  spentCredit: SpentCreditBody = { workspaces: [] }
}
