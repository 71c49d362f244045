import { parseSnapshotId, type WorkspaceId } from '@offshoot/contract/ids'
import type { Database } from '../../../platform/db/database.ts'
import { refuseManaged } from '../../orgs/allowance.ts'
import type { Caller } from '../../../platform/http/caller.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { anySnapshotOfWorkspace, snapshotOfWorkspace } from './snapshot-statements.ts'

/** `undefined` for an unknown id, a malformed one, another workspace's and a backup's alike. */
export async function findSnapshot(
  { pool }: Database,
  { workspaceId }: Caller,
  text: string,
): Promise<SnapshotRow | undefined> {
  const id = parseSnapshotId(text)
  const [row] = id === null ? [] : await snapshotOfWorkspace(pool, id, workspaceId)
  return row
}

/**
 * One that the caller may delete or make sandboxes of.
 * @throws ApiError 403 it is of a database's or an app's machine, and the key lacks that scope
 */
export async function findOwnSnapshot(
  database: Database,
  caller: Caller,
  text: string,
): Promise<SnapshotRow | undefined> {
  const row = await findSnapshot(database, caller, text)
  if (row !== undefined) refuseManaged(caller, row.managed_by, 'write')
  return row
}

/** For a feature's own sandbox: any of the workspace, backups too. */
export async function findFeatureSnapshot(
  { pool }: Database,
  workspaceId: WorkspaceId,
  text: string,
): Promise<SnapshotRow | undefined> {
  const id = parseSnapshotId(text)
  const [row] = id === null ? [] : await anySnapshotOfWorkspace(pool, id, workspaceId)
  return row
}
