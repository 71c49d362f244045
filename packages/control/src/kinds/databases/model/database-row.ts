import type { DatabaseSize } from '@offshoot/contract/database'
import type { AgentId, SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { SandboxStatus } from '@offshoot/contract/sandbox'

/** A row of `databases`, joined with its sandbox's row. */
export interface DatabaseRow {
  readonly id: SandboxId
  readonly workspace_id: WorkspaceId
  readonly label: string | null
  readonly size: DatabaseSize
  readonly status: 'provisioning' | 'ready' | 'deleting'
  readonly secrets: Buffer
  readonly broker_token_sha256: Buffer
  readonly idle_timeout_seconds: number
  readonly always_on: boolean
  /** MiB. */
  readonly disk_mb: number
  readonly parent_id: string | null
  readonly created_at: Date
  readonly recovered_at: Date | null
  readonly recovered_until: Date | null
  readonly agent_id: AgentId | null
  readonly sandbox_status: SandboxStatus | null
  readonly cpu: number | null
  readonly memory_mb: number | null
}
