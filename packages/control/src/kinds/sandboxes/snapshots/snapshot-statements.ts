import { REMOVABLE } from '../../../fleet/removable.ts'
import { statement } from '../../../platform/db/statement.ts'
import { READY_SNAPSHOT, SNAPSHOT_COLUMNS, type SnapshotRow } from './snapshot-row.ts'

/** Returns no row if the sandbox is gone. */
export const insertCreatingSnapshot = statement<
  { id: string },
  [id: string, sandboxId: string, creator: number, origin: 'user' | 'backup', name: string | null]
>(
  'insert-creating-snapshot',
  `insert into snapshots (id, workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, egress, visibility,
     managed_by, origin, name, status)
   select $1, workspace_id, agent_id, id, $3, template, cpu, memory_mb, egress, visibility, managed_by, $4, $5, 'creating'
   from sandboxes
   where id = $2
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

/** Fork snapshots that no sandbox depends on any more, and snapshots taken for a backup that never became one. */
const UNUSED = `snapshots.status = 'ready' and ${REMOVABLE}
  and (snapshots.origin = 'fork' and not exists (select from sandboxes where from_snapshot = snapshots.id::text)
    or snapshots.origin = 'backup' and snapshots.created_at < now() - interval '10 minutes'
      and not exists (select from database_backups b where b.id = snapshots.id))`

/** @param agents the reachable agents */
export const unusedSnapshotIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'unused-snapshot-ids',
  `select id from snapshots where ${UNUSED} order by created_at limit $1`,
)

/**
 * Marks the snapshot, so that nothing is made from it any more. No row: it is in use, or its agent is not reachable.
 */
export const endUnusedSnapshot = statement<SnapshotRow, [id: string, agents: readonly string[]]>(
  'end-unused-snapshot',
  `update snapshots set deletion_due_at = now() where id = $1 and ${UNUSED} returning ${SNAPSHOT_COLUMNS}`,
  READY_SNAPSHOT,
)
