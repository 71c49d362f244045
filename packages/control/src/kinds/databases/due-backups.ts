import type { RowTask } from '../../platform/jobs/task.ts'
import { dueBackup, dueBackupIds } from './backup-statements.ts'
import { databaseOfWorkspace } from './database-statements.ts'
import { type BackupTaker, takeBackup } from './take-backup.ts'

/** Backs up databases without a backup for a day. */
export function dueBackups(taker: BackupTaker): RowTask {
  const { database, fleet } = taker
  return {
    name: 'back-up-database',
    // The host may lack disk space.
    retrySeconds: 600,
    due: (limit) => dueBackupIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [due] = await dueBackup(database.pool, id, fleet.reachable)
      const [row] = due === undefined ? [] : await databaseOfWorkspace(database.pool, id, due.workspace_id)
      if (row !== undefined) await takeBackup(taker, row, 'daily', requestId)
    },
  }
}
