import { REMOVABLE } from '../../../fleet/removable.ts'
import { isAbandoned } from '../../../platform/db/abandoned.ts'
import { statement } from '../../../platform/db/statement.ts'
import { READY_SNAPSHOT, SNAPSHOT_COLUMNS, type SnapshotRow } from './snapshot-row.ts'

/** Returns no row if the sandbox is gone. */
export const insertCreatingSnapshot = statement<
  { id: string },
  [id: string, sandboxId: string, creator: number, origin: 'user' | 'backup']
>(
  'insert-creating-snapshot',
  `insert into snapshots (id, workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, egress, managed_by, origin, status)
   select $1, workspace_id, agent_id, id, $3, template, cpu, memory_mb, egress, managed_by, $4, 'creating' from sandboxes where id = $2
   returning id`,
)

/**
 * Sets the row to `ready` after the agent reported the snapshot as complete. Returns no row if the row was removed as
 * abandoned.
 */
export const setSnapshotReady = statement<SnapshotRow, [id: string, sizeBytes: number]>(
  'set-snapshot-ready',
  `update snapshots set status = 'ready', size_bytes = $2 where id = $1 returning ${SNAPSHOT_COLUMNS}`,
  READY_SNAPSHOT,
)

/** Removes the row of a failed snapshot. */
export const removeCreatingSnapshot = statement<{ id: string }, [id: string]>(
  'remove-creating-snapshot',
  `delete from snapshots where id = $1 and status = 'creating' returning id`,
)

/**
 * Finds a snapshot by id and workspace, never by id alone: this is the tenant check. Backups are excluded, because they
 * belong to their databases.
 */
export const snapshotOfWorkspace = statement<SnapshotRow, [id: string, workspaceId: string]>(
  'snapshot-of-workspace',
  `select ${SNAPSHOT_COLUMNS} from snapshots
   where id = $1 and workspace_id = $2 and status = 'ready' and deletion_due_at is null and origin <> 'backup'`,
  READY_SNAPSHOT,
)

/** For features, which may also create sandboxes from backups. */
export const anySnapshotOfWorkspace = statement<SnapshotRow, [id: string, workspaceId: string]>(
  'any-snapshot-of-workspace',
  `select ${SNAPSHOT_COLUMNS} from snapshots
   where id = $1 and workspace_id = $2 and status = 'ready' and deletion_due_at is null`,
  READY_SNAPSHOT,
)

export const removeSnapshotRow = statement<{ id: string }, [id: string]>(
  'remove-snapshot-row',
  'delete from snapshots where id = $1 returning id',
)

/**
 * Claims, for `leaseSeconds`, fork snapshots that no sandbox depends on any more, and snapshots that were taken for a
 * backup but never became one.
 *
 * @param agents the reachable agents
 */
export const claimUnusedSnapshots = statement<
  SnapshotRow,
  [limit: number, agents: readonly string[], leaseSeconds: number]
>(
  'claim-unused-snapshots',
  `with unused as materialized (
     select s.id as unused_id from snapshots s
     where s.status = 'ready' and ${REMOVABLE}
       and (s.deletion_due_at is null or s.deletion_due_at <= now())
       and (s.origin = 'fork' and not exists (select from sandboxes where from_snapshot = s.id::text)
         or s.origin = 'backup' and s.created_at < now() - interval '10 minutes'
           and not exists (select from database_backups b where b.id = s.id))
     order by s.created_at limit $1 for update skip locked
   )
   update snapshots set deletion_due_at = now() + make_interval(secs => $3)
   from unused where id = unused_id
   returning ${SNAPSHOT_COLUMNS}`,
  READY_SNAPSHOT,
)

export const retrySnapshotDeletion = statement<never, [id: string, afterSeconds: number]>(
  'retry-snapshot-deletion',
  'update snapshots set deletion_due_at = now() + make_interval(secs => $2) where id = $1 and deletion_due_at is not null',
)

export interface ReconcileSnapshotRow {
  readonly id: string
  readonly workspace_id: string
  readonly status: 'creating' | 'ready'
  /** @see isAbandoned */
  readonly is_abandoned: boolean
}

export const snapshotRowsOfAgent = statement<ReconcileSnapshotRow, [agentId: string, deadlineSeconds: number]>(
  'snapshot-rows-of-agent',
  `select s.id, s.workspace_id, s.status, ${isAbandoned('s', '$2')} as is_abandoned from snapshots s where s.agent_id = $1`,
)
