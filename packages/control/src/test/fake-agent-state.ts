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
import { FakeBuilds } from './fake-builds.ts'
import type { AgentAttachment, AgentVolume } from '@offshoot/contract/agent-volume'

/** Of every sandbox. */
export const FAKE_SIZE = { cpu: 1, memory_mb: 512 } as const

/** Of every agent. */
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

/** What a real agent has on disk. */
export class FakeAgentState {
  readonly builds = new FakeBuilds()
  readonly agentId = randomUUID()
  /** Whose control it obeys. */
  clusterId: string | null = null
  readonly sandboxes = new Map<string, AgentSandbox>()
  readonly snapshots = new Map<string, AgentSnapshot>()
  readonly volumes = new Map<string, AgentVolume>()
  /** Ids of sandboxes, snapshots and volumes whose records it cannot read: all its lists name all of them. */
  readonly unreadable = new Set<string>()
  readonly quarantine = new Map<string, QuarantineEntry>()
  /** By sandbox, which may be gone. */
  readonly attached = new Map<string, readonly AgentAttachment[]>()
  /** What it was last told, by sandbox. */
  readonly lifecycles = new Map<string, AgentLifecyclePatch>()
  readonly records: AgentRecord[] = []
  /** Of its disk. */
  freeBytes = 1024 ** 4
  diskState: DiskState = 'ok'
  /** Answer of `GET /v1/agent/usage`. */
  usage: unknown = { sandboxes: [], omitted: 0 }
  /** What it was last told. */
  spentCredit: SpentCreditBody = { workspaces: [] }
}
