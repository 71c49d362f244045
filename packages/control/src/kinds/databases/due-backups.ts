import { claimDueBackups, setBackupDue } from './backup-statements.ts'
import { databaseOfWorkspace } from './database-statements.ts'
import { type BackupTaker, takeBackup } from './take-backup.ts'
import type { Reaping } from '../../platform/jobs/reaper.ts'

/** Seconds for which one process has a backup to itself: longer than any takes. */
const BACKUP_SECONDS = 900
/** Databases backed up at the same time: each of them writes its memory. */
const AT_ONCE = 2
const EVERY_MS = 2_000
/** Seconds until another try: a host that could not now may be short of room. */
const RETRY_SECONDS = 600

/** Databases that had no backup for a day. */
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
