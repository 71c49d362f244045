import { isAbandoned } from '../../platform/db/abandoned.ts'
import { statement } from '../../platform/db/statement.ts'
import { BUILD_COLUMNS, type BuildRow } from './build-row.ts'

/** Fails with a unique violation while another build with that name is in progress. */
export const insertBuild = statement<
  BuildRow,
  [id: string, workspaceId: string, agentId: string, creator: number, name: string, sizeMb: number, bytes: number]
>(
  'insert-build',
  `insert into template_builds (id, workspace_id, agent_id, creator, name, size_mb, bytes, status, stage)
   values ($1, $2, $3, $4, $5, $6, $7, 'queued', 'waiting') returning ${BUILD_COLUMNS}`,
)

/** Stores the sizes that the agent reports for the captured sandbox. */
export const setBuildSource = statement<BuildRow, [id: string, sizeMb: number, bytes: number]>(
  'set-build-source',
  `update template_builds set size_mb = $2, bytes = $3 where id = $1 returning ${BUILD_COLUMNS}`,
)

/** Removes a build that its agent never accepted. */
export const removeBuild = statement<never, [id: string]>(
  'remove-build',
  'delete from template_builds where id = $1 and ended_at is null',
)

/** Finds a build by workspace and id: this is the tenant check. */
export const buildOfWorkspace = statement<BuildRow, [workspaceId: string, id: string]>(
  'build-of-workspace',
  `select ${BUILD_COLUMNS} from template_builds where workspace_id = $1 and id = $2`,
)

/** No row: the workspace has never built a template of that name. */
export const anyBuildOfTemplate = statement<{ id: string }, [workspaceId: string, name: string]>(
  'any-build-of-template',
  'select id from template_builds where workspace_id = $1 and name = $2 limit 1',
)

export interface OpenBuildRow {
  readonly id: string
  readonly agent_id: string
  /** 0 if the agent's answer was lost. */
  readonly size_mb: number
  /** @see isAbandoned */
  readonly is_abandoned: boolean
}

/** Builds in progress. */
export const openBuilds = statement<OpenBuildRow, [deadlineSeconds: number]>(
  'open-builds',
  `select b.id, b.agent_id, b.size_mb, ${isAbandoned('b', '$1')} as is_abandoned from template_builds b where b.ended_at is null`,
)

/** Only for a build in progress. */
export const setBuildProgress = statement<
  never,
  [id: string, status: string, stage: string, percent: number, startedAt: string | null]
>(
  'set-build-progress',
  `update template_builds set status = $2, stage = $3, percent = $4, started_at = $5 where id = $1 and ended_at is null`,
)

/**
 * Ends a build in progress and returns its row. No row: another process has ended it, and does what follows from that.
 */
export const endBuild = statement<
  BuildRow,
  [
    id: string,
    status: string,
    stage: string,
    percent: number,
    error: string | null,
    startedAt: string | null,
    endedAt: string,
  ]
>(
  'end-build',
  `update template_builds set status = $2, stage = $3, percent = $4, error = $5, started_at = $6, ended_at = $7
   where id = $1 and ended_at is null returning ${BUILD_COLUMNS}`,
)
