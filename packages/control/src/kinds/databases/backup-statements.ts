import type { DatabaseBackup } from '@offshoot/contract/database'
import { statement } from '../../platform/db/statement.ts'
import { READY_SNAPSHOT, type SnapshotRow } from '../sandboxes/snapshots/snapshot-row.ts'
import type { DatabaseRow } from './model/database-row.ts'

/** A complete backup, with the size and times of its snapshot. */
export interface BackupRow extends Pick<SnapshotRow, 'id' | 'agent_id' | 'workspace_id' | 'size_bytes' | 'created_at'> {
  readonly database_id: string
  readonly origin: DatabaseBackup['origin']
  readonly secrets: Buffer
  /** The backup contains nothing that was written later. */
  readonly taken_at: Date
  readonly verified: DatabaseBackup['verified']
  readonly verified_at: Date | null
  readonly verify_error: string | null
}

export const BACKUP_COLUMNS = `b.id, s.agent_id, s.workspace_id, s.size_bytes, s.created_at, b.database_id, b.origin, b.secrets, b.taken_at,
  b.verified, b.verified_at, b.verify_error`
export const WHOLE_BACKUPS = `database_backups b join snapshots s on s.id = b.id and s.status = 'ready' and s.deletion_due_at is null`

/**
 * Returns no row if the database's secrets have changed since the snapshot, because then it is unknown which of them
 * open the backup.
 */
export const insertBackup = statement<
  Pick<BackupRow, 'taken_at' | 'verified' | 'verified_at' | 'verify_error'>,
  [id: string, databaseId: string, origin: string, secrets: Buffer]
>(
  'insert-database-backup',
  `insert into database_backups (id, database_id, origin, secrets)
   select $1, id, $3, secrets from databases where id = $2 and status = 'ready' and secrets = $4
   returning taken_at, verified, verified_at, verify_error`,
)

/** Newest first. */
export const backupsOfDatabase = statement<BackupRow, [databaseId: string]>(
  'backups-of-database',
  `select ${BACKUP_COLUMNS} from ${WHOLE_BACKUPS} where b.database_id = $1 order by s.created_at desc, b.id desc`,
  READY_SNAPSHOT,
)

export const backupOfDatabase = statement<BackupRow, [id: string, databaseId: string]>(
  'backup-of-database',
  `select ${BACKUP_COLUMNS} from ${WHOLE_BACKUPS} where b.id = $1 and b.database_id = $2`,
  READY_SNAPSHOT,
)

/** The newest backup that contains nothing later than the given time. */
export const backupBefore = statement<BackupRow, [databaseId: string, time: Date]>(
  'backup-before',
  `select ${BACKUP_COLUMNS} from ${WHOLE_BACKUPS} where b.database_id = $1 and b.taken_at <= $2
   order by b.taken_at desc, b.id desc limit 1`,
  READY_SNAPSHOT,
)

export const oldestBackup = statement<Pick<BackupRow, 'taken_at' | 'created_at'>, [databaseId: string]>(
  'oldest-backup',
  `select b.taken_at, s.created_at from ${WHOLE_BACKUPS} where b.database_id = $1 order by b.taken_at limit 1`,
)

const DUE = `databases d join sandboxes s on s.id = d.id
  where d.status = 'ready' and d.backup_due_at <= now() and s.agent_id = any($2) and s.status in ('running', 'hibernated')`

/** Databases without a backup for a day. @param agents the reachable agents */
export const dueBackupIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'due-database-backup-ids',
  `select d.id from ${DUE} order by d.backup_due_at limit $1`,
)

/** No row: no backup is due, or the database's agent is not reachable. */
export const dueBackup = statement<
  Pick<DatabaseRow, 'id' | 'workspace_id'>,
  [databaseId: string, agents: readonly string[]]
>('due-database-backup', `select d.id, d.workspace_id from ${DUE} and d.id = $1`)

export const setBackupDue = statement<never, [databaseId: string, seconds: number]>(
  'set-database-backup-due',
  'update databases set backup_due_at = now() + make_interval(secs => $2) where id = $1',
)
