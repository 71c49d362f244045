import type { WorkspaceId } from '@offshoot/contract/ids'
import { statement } from '../../platform/db/statement.ts'
import { READY_SNAPSHOT, SNAPSHOT_COLUMNS, type SnapshotRow } from './snapshots/snapshot-row.ts'
import { VOLUME_COLUMNS, type VolumeRow } from '../volumes/volume-row.ts'

export interface DeletedOrgRow {
  readonly id: WorkspaceId
  readonly name: string
}

export const deletedOrgIds = statement<{ id: string }, [limit: number]>(
  'deleted-org-ids',
  'select id from organization where deletion_due_at <= now() order by deletion_due_at limit $1',
)

export const deletedOrg = statement<DeletedOrgRow, [id: string]>(
  'deleted-org',
  'select id, name from organization where id = $1 and deletion_due_at <= now()',
)

/**
 * Marks all sandboxes of the workspace for deletion. A sandbox that is being created is marked by a later call; until
 * it is gone, the workspace is not removed.
 */
export const endSandboxes = statement<never, [workspaceId: string]>(
  'end-sandboxes-of-org',
  'update sandboxes set deletion_due_at = now(), managed_by = null where workspace_id = $1 and deletion_due_at is null',
)

export const snapshotsToEnd = statement<SnapshotRow, [workspaceId: string]>(
  'snapshots-to-end',
  `select ${SNAPSHOT_COLUMNS} from snapshots where workspace_id = $1 and status = 'ready' limit 100`,
  READY_SNAPSHOT,
)

/** Only once the workspace has no sandbox that could use a volume. */
export const volumesToEnd = statement<VolumeRow, [workspaceId: string]>(
  'volumes-to-end',
  `select ${VOLUME_COLUMNS} from volumes where workspace_id = $1 and status = 'ready'
     and not exists (select from sandboxes where workspace_id = $1) limit 100`,
)

export const leftInOrg = statement<{ count: number }, [workspaceId: string]>(
  'left-in-org',
  `select (select count(*) from sandboxes where workspace_id = $1)
        + (select count(*) from snapshots where workspace_id = $1)
        + (select count(*) from volumes where workspace_id = $1) as count`,
)

/** Cascades to the workspace's memberships, keys and settings. */
export const removeOrg = statement<{ id: string }, [id: string]>(
  'remove-org',
  'delete from organization where id = $1 and deletion_due_at is not null returning id',
)
