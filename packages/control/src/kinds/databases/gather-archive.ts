import { ApiError } from '@offshoot/contract/errors'
import { refusalOf } from '../../fleet/agent-failure.ts'
import { archivedNames, type ArchivePlace, copyArchive } from '../../fleet/copy-archive.ts'
import { SourceFailed } from '../../fleet/stream-calls.ts'
import type { BackupRow } from './backup-statements.ts'
import type { DatabasesContext } from './databases-context.ts'
import { agentOfDatabase } from './model/agent-of-database.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { neededSince } from './prune-archive.ts'
import { RECOVER_MS } from './recover.ts'
import { neededSegments } from './recovery-statements.ts'
import { NotStored, sendStored } from './send-stored.ts'

interface Restored {
  /** The new database, whose sandbox has the disk of the backup. */
  readonly made: DatabaseRow
  readonly parent: DatabaseRow
  readonly backup: BackupRow
  readonly requestId: string
}

/**
 * The id of a sandbox on the host of the restored one whose archive has what the backup needs. That of the parent lacks
 * it if the parent is on another host, or was recovered from a later backup. Then control copies the files into the
 * archive of the restored one, where the next prune removes them: those of the parent, and those that only the object
 * store has. If the parent's host is away, the object store has to suffice.
 * @throws ApiError
 */
export async function gatherArchive(control: DatabasesContext, restored: Restored): Promise<string> {
  try {
    return await gather(control, restored)
  } catch (error) {
    if (!(error instanceof NotStored)) throw refusalOf(error)
    throw new ApiError('conflict', { detail: 'a part of the archive cannot be read at present' }, { cause: error })
  }
}

async function gather(control: DatabasesContext, { made, parent, backup, requestId }: Restored): Promise<string> {
  const { database, fleet, storedSegments: store, log } = control
  const since = neededSince(backup)
  const stored = store === null ? [] : await neededSegments(database.pool, parent.id, since)
  const placeOf = (row: DatabaseRow): ArchivePlace => ({
    agent: agentOfDatabase(fleet, row),
    subject: { id: row.id, workspaceId: row.workspace_id, requestId },
  })
  const lackedBy = async (place: ArchivePlace) => {
    const there = await archivedNames(place)
    return stored.filter(({ name }) => !there.has(name))
  }
  if (made.agent_id === parent.agent_id && (await lackedBy(placeOf(parent))).length === 0) return parent.id
  const destination = placeOf(made)
  const signal = AbortSignal.timeout(RECOVER_MS)
  try {
    await copyArchive(placeOf(parent), destination, {
      isWanted: ({ name, taken_at: takenAt }) => Date.parse(takenAt) >= since.getTime() || name.endsWith('.history'),
      signal,
    })
  } catch (error) {
    const isAway = error instanceof SourceFailed || error instanceof ApiError
    if (!isAway || stored.length === 0) throw error instanceof SourceFailed ? error.cause : error
    log.warn({ req_id: requestId, database: parent.id, err: error }, 'restored from the object store alone')
  }
  if (store !== null) await sendStored(store, await lackedBy(destination), parent.id, destination, signal)
  return made.id
}
