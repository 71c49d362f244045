import type { Remover } from '../../../fleet/agent-or-retired.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import { removeSnapshot } from './remove-snapshot.ts'
import { endUnusedSnapshot, unusedSnapshotIds } from './snapshot-statements.ts'

/** Deletes the snapshots of forks once no sandbox made from them is left. */
export function unusedSnapshots(remover: Remover): RowTask {
  const { fleet, database } = remover
  return {
    name: 'remove-snapshot',
    due: (limit) => unusedSnapshotIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [row] = await endUnusedSnapshot(database.pool, id, fleet.reachable)
      if (row !== undefined) await removeSnapshot(remover, row, requestId)
    },
  }
}
