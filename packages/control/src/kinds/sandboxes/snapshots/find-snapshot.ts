import { parseSnapshotId, type WorkspaceId } from '@offshoot/contract/ids'
import type { Database } from '../../../platform/db/database.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { anySnapshotOfWorkspace, snapshotOfWorkspace } from './snapshot-statements.ts'

/** @param isManaged of a backup too. `undefined` for an unknown id, a malformed one and another workspace's alike. */
export async function findSnapshot(
  { pool }: Database,
  workspaceId: WorkspaceId,
  text: string,
  isManaged = false,
): Promise<SnapshotRow | undefined> {
  const id = parseSnapshotId(text)
  const [row] =
    id === null ? [] : await (isManaged ? anySnapshotOfWorkspace : snapshotOfWorkspace)(pool, id, workspaceId)
  return row
}
