import type { RowTask } from '../../../platform/jobs/task.ts'
import {
  archivesToDelete,
  droppedSegments,
  endDeletion,
  removeArchive,
  removeSegment,
} from './stored-archive-statements.ts'
import type { ArchivesContext } from './stored-segments.ts'

/** Objects that are deleted before control looks at the rows again. */
const AT_ONCE = 100

/** Deletes the objects of files that no backup needs, and those of deleted databases. The row goes last. */
export function deleteSegments({ database: { pool }, storedSegments: store }: ArchivesContext): RowTask {
  return {
    name: 'delete-segments',
    // Without the object store, the rows wait until there is one again.
    due: async (limit) => (store === null ? [] : archivesToDelete(pool, limit)),
    async work({ id, signal }) {
      if (store === null) return
      for (;;) {
        const dropped = await droppedSegments(pool, id, AT_ONCE)
        if (dropped.length === 0) break
        for (const { name, workspace_id: workspaceId } of dropped) {
          await store.remove({ workspaceId, databaseId: id, name }, signal)
          await removeSegment(pool, id, name)
        }
      }
      await endDeletion(pool, id)
      await removeArchive(pool, id)
    },
  }
}
