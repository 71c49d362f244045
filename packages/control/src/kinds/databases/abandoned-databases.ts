import type { Remover } from '../../fleet/agent-or-retired.ts'
import type { RowTask } from '../../platform/jobs/task.ts'
import { abandonedDatabaseIds, endAbandonedDatabase } from './database-statements.ts'
import { removeDatabase } from './remove-database.ts'

/** Removes databases whose creation or deletion a process began but did not finish. */
export function abandonedDatabases(remover: Remover): RowTask {
  const { pool } = remover.database
  return {
    name: 'remove-database',
    due: (limit) => abandonedDatabaseIds(pool, limit),
    async work({ id, requestId }) {
      const [row] = await endAbandonedDatabase(pool, id)
      if (row !== undefined) await removeDatabase(remover, id, requestId)
    },
  }
}
