import { databaseBackup, type DatabaseBackup, KEPT_BACKUPS } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { Logger } from 'pino'
import { sandboxById } from '../sandboxes/model/sandbox-statements.ts'
import { makeSnapshot, type SnapshotTaker } from '../sandboxes/snapshots/make-snapshot.ts'
import { removeSnapshot } from '../sandboxes/snapshots/remove-snapshot.ts'
import { pruneDatabaseArchive } from './prune-archive.ts'
import { type BackupRow, backupsOfDatabase, insertBackup, setBackupDue } from './backup-statements.ts'
import type { DatabaseRow } from './model/database-row.ts'

const DAY_SECONDS = 24 * 3600

/** The services that are needed to take a backup. */
export interface BackupTaker extends SnapshotTaker {
  readonly log: Logger
}

type Backed = Pick<DatabaseRow, 'id' | 'secrets'>

/**
 * Takes a snapshot of the database's sandbox and stores it with the credentials. If the process dies in between, the
 * reaper removes the snapshot (`claimUnusedSnapshots`). Keeps the newest {@link KEPT_BACKUPS} backups.
 * @throws ApiError as for a snapshot; 409 if the credentials were reset meanwhile
 */
export async function takeBackup(
  control: BackupTaker,
  database: Backed,
  origin: DatabaseBackup['origin'],
  requestId: string,
): Promise<BackupRow> {
  const { pool } = control.database
  const [machine] = await sandboxById(pool, database.id)
  if (machine === undefined) throw new ApiError('notFound')
  const snapshot = await makeSnapshot(control, machine, requestId, { origin: 'backup' })
  const [inserted] = await insertBackup(pool, snapshot.id, database.id, origin, database.secrets)
  if (inserted === undefined) {
    await removeSnapshot(control, snapshot, requestId)
    throw new ApiError('conflict', { detail: 'the credentials were reset while the backup was taken' })
  }
  await setBackupDue(pool, database.id, DAY_SECONDS)
  await prune(control, database.id, requestId)
  return { ...snapshot, ...inserted, origin, database_id: database.id, secrets: database.secrets }
}

/**
 * Removes old backups, and the WAL archived before the oldest one left. After a failure, the next backup tries again.
 */
async function prune(control: BackupTaker, databaseId: string, requestId: string): Promise<void> {
  const old = (await backupsOfDatabase(control.database.pool, databaseId)).slice(KEPT_BACKUPS)
  for (const row of old) {
    await removeSnapshot(control, row, requestId).catch((err: unknown) =>
      control.log.warn({ err, req_id: requestId, backup: row.id }, 'old backup not removed'),
    )
  }
  await pruneDatabaseArchive(control, databaseId, requestId)
}

export function presentBackup(row: BackupRow): DatabaseBackup {
  const { id, database_id, origin, size_bytes, created_at, verified, verified_at, verify_error } = row
  return databaseBackup.parse({
    id,
    database_id,
    origin,
    size_bytes,
    created_at: created_at.toISOString(),
    verified,
    verified_at: verified_at?.toISOString() ?? null,
    verify_error,
  })
}
