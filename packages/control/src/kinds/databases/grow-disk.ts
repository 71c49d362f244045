import { ApiError } from '@offshoot/contract/errors'
import type { DatabasesContext } from './databases-context.ts'
import { underLease } from '../../platform/db/lease.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { databaseLease, readyDatabase, setDatabaseDisk } from './database-statements.ts'
import type { Reached } from './model/tunnel.ts'
import { runInDatabase } from './run-in-database.ts'

/** Milliseconds to grow a file system, including the wake of its sandbox. */
const GROW_MS = 90_000

/**
 * Grows the file system of a database while it is in use. The block device has the maximum size from the start. A lease
 * serializes the calls. If the process dies in between, the file system is larger than the row says; growing it again
 * does no harm.
 * @throws ApiError 400 if it would shrink, 404, 409 if the guest cannot grow it, and as the agent answers
 */
export async function growDisk(
  control: DatabasesContext,
  row: DatabaseRow,
  diskMb: number,
  requestId: string,
): Promise<void> {
  const { pool } = control.database
  await underLease({ pool, lock: control.lock }, databaseLease(row.id), async (commit) => {
    const [current] = await readyDatabase(pool, row.id)
    if (current === undefined) throw new ApiError('notFound')
    if (diskMb < current.disk_mb)
      throw new ApiError('invalidField', { error: `disk_mb must be >= ${current.disk_mb}: a disk only grows` })
    await resize(control, row, diskMb, requestId)
    await commit((client) => setDatabaseDisk(client, row.id, diskMb))
  })
}

/** Also works for a database that is not ready yet. */
export async function resize({ fleet, log }: DatabasesContext, row: Reached, diskMb: number, requestId: string) {
  const options = { timeoutMs: GROW_MS, requestId }
  const { exitCode, stderr } = await runInDatabase(fleet, row, `resize2fs /dev/vda ${diskMb}M`, options)
  if (exitCode === 0) return
  log.warn({ req_id: requestId, database: row.id, stderr: stderr.slice(-2000) }, 'disk not grown')
  throw new ApiError('conflict', { detail: 'the file system could not be grown' })
}
