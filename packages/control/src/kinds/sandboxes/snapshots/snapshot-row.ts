import type { AgentId, SnapshotId, WorkspaceId } from '@offshoot/contract/ids'
import type { Egress, Visibility } from '@offshoot/contract/sandbox'
import type { Snapshot } from '@offshoot/contract/snapshot'
import type { Manager } from '../../../fleet/sandbox-row.ts'

/** The row of a complete snapshot. Snapshots in creation cannot be used yet. */
export interface SnapshotRow {
  readonly id: SnapshotId
  readonly name: string | null
  readonly workspace_id: WorkspaceId
  readonly agent_id: AgentId
  readonly sandbox_id: string
  readonly template: string
  readonly cpu: number
  readonly memory_mb: number
  readonly size_bytes: number
  readonly origin: 'user' | 'fork' | 'backup'
  /** Owner of the sandbox at the time when the snapshot was taken. */
  readonly managed_by: Manager['by'] | null
  /** The egress setting of the sandbox. */
  readonly egress: Egress
  /** The visibility of the sandbox. */
  readonly visibility: Visibility
  readonly created_at: Date
}

/** The select list of a {@link SnapshotRow}. */
export const SNAPSHOT_COLUMNS =
  'id, name, workspace_id, agent_id, sandbox_id, template, cpu, memory_mb, size_bytes, origin, managed_by, egress, visibility, created_at'

/** The schema requires a size of every snapshot that is ready. */
export const READY_SNAPSHOT = { notNull: ['size_bytes'] } as const

/** The public view of a row. */
export function presentSnapshot({ origin, ...row }: SnapshotRow): Snapshot {
  return {
    id: row.id,
    name: row.name,
    sandbox_id: row.sandbox_id,
    template: row.template,
    cpu: row.cpu,
    memory_mb: row.memory_mb,
    size_bytes: row.size_bytes,
    // Backups never appear here, so every other origin is `user`.
    origin: origin === 'fork' ? 'fork' : 'user',
    created_at: row.created_at.toISOString(),
  }
}
