import type { AgentId, VolumeId, WorkspaceId } from '@offshoot/contract/ids'
import type { Volume, VolumeSnapshot } from '@offshoot/contract/volume'

const MIB = 1024 * 1024

/** The row of a complete volume, or of a snapshot of one. */
export interface VolumeRow {
  readonly id: VolumeId
  readonly workspace_id: WorkspaceId
  readonly agent_id: AgentId
  readonly kind: 'volume' | 'snapshot'
  readonly name: string
  readonly size_mb: number
  readonly created_at: Date
}

/** With the sandboxes that have it attached. */
export interface HeldVolumeRow extends VolumeRow {
  readonly attachments: Volume['attachments']
}

/** The select list of a {@link VolumeRow}. */
export const VOLUME_COLUMNS = 'id, workspace_id, agent_id, kind, name, size_mb, created_at'

/** @param usedBytes as reported by the agent; `null` if it cannot be asked */
export function presentVolume(row: HeldVolumeRow, usedBytes: number | null): Volume {
  return {
    name: row.name,
    size_mb: row.size_mb,
    size_bytes: row.size_mb * MIB,
    used_bytes: usedBytes,
    agent_id: row.agent_id,
    attached_to: row.attachments[0]?.sandbox_id ?? null,
    attachments: row.attachments,
    created_at: row.created_at.toISOString(),
  }
}

export function presentVolumeSnapshot(row: VolumeRow): VolumeSnapshot {
  return {
    id: row.id,
    volume: row.name,
    size_mb: row.size_mb,
    size_bytes: row.size_mb * MIB,
    created_at: row.created_at.toISOString(),
  }
}
