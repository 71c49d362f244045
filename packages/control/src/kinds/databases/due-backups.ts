import { claimDueBackups, setBackupDue } from './backup-statements.ts'
import { databaseOfWorkspace } from './database-statements.ts'
import { type BackupTaker, takeBackup } from './take-backup.ts'
import type { Reaping } from '../../platform/jobs/reaper.ts'

/** Seconds for which one process claims a backup. No backup may take longer. */
const BACKUP_SECONDS = 900
/** Databases that are backed up at the same time. Low, because each backup writes the VM's memory to disk. */
const AT_ONCE = 2
const EVERY_MS = 2_000
/** Seconds until the next attempt. Long, because the host may lack disk space. */
const RETRY_SECONDS = 600

/** Backs up databases without a backup for a day. */
export function dueBackups(taker: BackupTaker): Reaping<{ readonly id: string; readonly workspace_id: string }> {
  const { database, fleet } = taker
  return {
    what: 'daily backup',
    everyMs: EVERY_MS,
    claim: (limit) => claimDueBackups(database.pool, Math.min(limit, AT_ONCE), fleet.reachable, BACKUP_SECONDS),
    remove: async ({ id, workspace_id }, requestId) => {
      const [row] = await databaseOfWorkspace(database.pool, id, workspace_id)
      if (row !== undefined) await takeBackup(taker, row, 'daily', requestId)
    },
    retry: (id) => setBackupDue(database.pool, id, RETRY_SECONDS),
  }
}
