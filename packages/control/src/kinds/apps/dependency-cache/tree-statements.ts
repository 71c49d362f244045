import type { WorkspaceId } from '@offshoot/contract/ids'
import { REMOVABLE } from '../../../fleet/removable.ts'
import { isAbandoned } from '../../../platform/db/abandoned.ts'
import { statement } from '../../../platform/db/statement.ts'

/** Days after which dependencies are installed again, even if the lock file is unchanged. */
const KEPT_DAYS = 7

/** The installed dependencies of a build. */
export interface TreeRow {
  /** The id of the template on its agent. */
  readonly id: string
  readonly workspace_id: WorkspaceId
  readonly agent_id: string
  readonly key: string
}

const COLUMNS = 't.id, t.workspace_id, t.agent_id, t.key'
const IS_YOUNG = `t.created_at > now() - interval '${KEPT_DAYS} days'`

/** SQL: something new may start on the host of the tree `t`. */
const IS_USABLE = `exists (select from agents h where h.id = t.agent_id and h.retired_at is null and h.lost_at is null
     and h.drain_begun_at is null)`

/** The tree from which a build of the app may start. */
export const treeOfApp = statement<TreeRow, [appId: string]>(
  'tree-of-app',
  `select ${COLUMNS} from app_trees t where t.app_id = $1 and t.status = 'ready' and ${IS_YOUNG} and ${IS_USABLE}`,
)

/** Disowns the app's tree, unless it is the same and can be used. Call it while holding the app's lock. */
export const disownOtherTree = statement<never, [appId: string, key: string]>(
  'disown-other-tree',
  `update app_trees t set app_id = null where t.app_id = $1 and not (t.key = $2 and ${IS_YOUNG} and ${IS_USABLE})`,
)

/** Call it after {@link disownOtherTree}. No row: the app already has this tree, or it is being created. */
export const claimTree = statement<
  TreeRow,
  [id: string, appId: string, workspaceId: string, agentId: string, key: string, creator: number]
>(
  'claim-tree',
  `insert into app_trees as t (id, app_id, workspace_id, agent_id, key, status, creator)
   values ($1, $2, $3, $4, $5, 'making', $6) on conflict (app_id) where app_id is not null do nothing returning ${COLUMNS}`,
)

/** Marks a tree for removal, first from its agent, then its row. */
export const disownTree = statement<never, [id: string]>(
  'disown-tree',
  'update app_trees set app_id = null where id = $1',
)

export interface MakingTreeRow extends TreeRow {
  /** @see isAbandoned */
  readonly is_abandoned: boolean
}

export const makingTrees = statement<MakingTreeRow, [deadlineSeconds: number]>(
  'making-trees',
  `select ${COLUMNS}, ${isAbandoned('t', '$1')} as is_abandoned from app_trees t
   where t.status = 'making' and t.app_id is not null`,
)

export const setTreeReady = statement<never, [id: string]>(
  'set-tree-ready',
  `update app_trees set status = 'ready' where id = $1`,
)

const OLD = `(app_id is null or created_at <= now() - interval '${KEPT_DAYS} days') and ${REMOVABLE}`

/** @param agents the reachable agents */
export const oldTreeIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'old-tree-ids',
  `select id from app_trees where ${OLD} order by created_at limit $1`,
)

/** Takes the tree from its app. No row: it is not old, or its agent is not reachable. */
export const endOldTree = statement<TreeRow, [id: string, agents: readonly string[]]>(
  'end-old-tree',
  `update app_trees t set app_id = null where id = $1 and ${OLD} returning ${COLUMNS}`,
)

export const removeTreeRow = statement<never, [id: string]>('remove-tree-row', 'delete from app_trees where id = $1')

export const countTrees = statement<{ status: string; count: number }, []>(
  'count-trees',
  'select status, count(*)::integer as count from app_trees where app_id is not null group by status',
)
