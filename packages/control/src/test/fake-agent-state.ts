import { randomUUID } from 'node:crypto'
import type {
  AgentLifecyclePatch,
  AgentRecord,
  AgentSandbox,
  AgentSnapshot,
  SpentCreditBody,
} from '@offshoot/contract/agent-api'
import type { AgentAttachment, AgentVolume } from '@offshoot/contract/agent-volume'

/** Of every sandbox. */
export const FAKE_SIZE = { cpu: 1, memory_mb: 512 } as const

export interface Handled {
  readonly status: number
  readonly body?: unknown
}

/** What a real agent has on disk. */
export class FakeAgentState {
  readonly agentId = randomUUID()
  readonly sandboxes = new Map<string, AgentSandbox>()
  readonly snapshots = new Map<string, AgentSnapshot>()
  readonly volumes = new Map<string, AgentVolume>()
  /** By sandbox, which may be gone. */
  readonly attached = new Map<string, readonly AgentAttachment[]>()
  /** What it was last told, by sandbox. */
  readonly lifecycles = new Map<string, AgentLifecyclePatch>()
  readonly records: AgentRecord[] = []
  /** What it was last told. */
  spentCredit: SpentCreditBody = { workspaces: [] }
}
