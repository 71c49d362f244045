import { droppedStream, droppedStreams, removeStream } from '../../../fleet/stream-statements.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'

/** Deletes the objects of streams that nobody needs. The row goes last, so nothing is forgotten. */
export function deleteStreams({ database, storedStreams }: SandboxesContext): RowTask {
  return {
    name: 'delete-stream',
    // Without the object store, the rows wait until there is one again.
    due: async (limit) => (storedStreams === null ? [] : droppedStreams(database.pool, limit)),
    async work({ id, signal }) {
      const [stream] = storedStreams === null ? [] : await droppedStream(database.pool, id)
      if (stream === undefined) return
      await storedStreams?.remove(stream, signal)
      await removeStream(database.pool, id)
    },
  }
}
