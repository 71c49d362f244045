import { parseSnapshotId, type WorkspaceId } from '@offshoot/contract/ids'
import type { Database } from '../../../platform/db/database.ts'
import { refuseManaged } from '../../orgs/identity/authorize.ts'
import type { Caller } from '../../../platform/http/caller.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { anySnapshotOfWorkspace, snapshotOfWorkspace } from './snapshot-statements.ts'

/** `undefined` for an unknown or malformed id, another workspace's snapshot, and a backup. */
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
 * A snapshot that the caller may delete or create sandboxes from.
 * @throws ApiError 403 if the snapshot belongs to a database or an app, and the key lacks that scope
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

/** For a feature's own sandbox: any snapshot of the workspace, including backups. */
export async function findFeatureSnapshot(
  { pool }: Database,
  workspaceId: WorkspaceId,
  text: string,
): Promise<SnapshotRow | undefined> {
  const id = parseSnapshotId(text)
  const [row] = id === null ? [] : await anySnapshotOfWorkspace(pool, id, workspaceId)
  return row
}
