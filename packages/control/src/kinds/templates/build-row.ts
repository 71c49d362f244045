import type { Build, BuildStage, BuildStatus } from '@offshoot/contract/build'
import type { AgentId, BuildId, WorkspaceId } from '@offshoot/contract/ids'

/** A row of `template_builds`. Its id is also that of the template. */
export interface BuildRow {
  readonly id: BuildId
  readonly workspace_id: WorkspaceId
  readonly agent_id: AgentId
  readonly name: string
  readonly status: BuildStatus
  readonly stage: BuildStage
  readonly percent: number
  readonly error: string | null
  readonly size_mb: number
  readonly bytes: number
  readonly created_at: Date
  readonly started_at: Date | null
  readonly ended_at: Date | null
}

/** The select list of a {@link BuildRow}. Never use `*` (`fleet/sandbox-row.ts` explains why). */
export const BUILD_COLUMNS =
  'id, workspace_id, agent_id, name, status, stage, percent, error, size_mb, bytes, created_at, started_at, ended_at'

/** The public view of a row. */
export function presentBuild(row: BuildRow): Build {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    stage: row.stage,
    percent: row.percent,
    error: row.error,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    ended_at: row.ended_at?.toISOString() ?? null,
    size_mb: row.size_mb,
    bytes: row.bytes,
  }
}
