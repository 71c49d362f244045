import { DATABASE_TEMPLATES, databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { DatabasesContext } from './databases-context.ts'
import { createSandbox } from '../sandboxes/create-sandbox.ts'
import { backupBefore, oldestBackup } from './backup-statements.ts'
import { claimDatabase } from './claim-database.ts'
import { finish, orNothing } from './create-database.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { resize } from './grow-disk.ts'
import { finishSegment } from './finish-segment.ts'
import { gatherArchive } from './gather-archive.ts'
import { recover } from './recover.ts'
import { type Branch, provisionChild } from './provision-child.ts'
import { openSecrets } from './model/secrets.ts'

/**
 * A new database in the state that another had at a given time. Control boots the disk of the newest earlier backup
 * without its memory, so that no work of that moment continues, and replays the WAL written since. Steps and failures
 * are those of a create.
 *
 * @throws ApiError 400 for a time that cannot be restored, 409 if the archive does not reach it, and as for a create
 * from a snapshot; nothing is left then
 */
export async function restoreDatabase(control: DatabasesContext, branch: Branch, time: Date): Promise<DatabaseRow> {
  const { parent, id, requestId } = branch
  const backup = await backupFor(control, parent, time)
  const { workspace_id: workspaceId, size, idle_timeout_seconds } = parent
  const secrets = await provisionChild(control, branch)
  return orNothing(control, { id, requestId }, async () => {
    // The parent may be broken, which can be the very reason for the restore. Then the WAL archived so far must
    // suffice.
    await finishSegment(control, parent, time, requestId).catch((err: unknown) =>
      control.log.warn({ req_id: requestId, database: parent.id, err }, 'restored from what is archived already'),
    )
    await createSandbox(control, {
      id,
      workspaceId,
      requestId,
      manager: { by: 'database', id },
      withoutMemory: true,
      body: {
        template: DATABASE_TEMPLATES[size],
        from_snapshot: backup.id,
        persistent: true,
        idle_timeout_seconds,
        env: { OFFSHOOT_HOLD: '1' },
      } as unknown as Parameters<typeof createSandbox>[1]['body'],
    })
    const { adminToken } = openSecrets(control.databaseSecrets, backup.secrets)
    const formerly = { user: databaseUser(parent.id), adminToken }
    return finish(control, { id, workspaceId }, async (made) => {
      const archive = await gatherArchive(control, { made, parent, backup, requestId })
      await recover(control, made, archive, time, requestId)
      await claimDatabase(control.fleet, made, { secrets, formerly })
      await resize(control, made, parent.disk_mb, requestId)
    })
  })
}

async function backupFor({ database: { pool } }: DatabasesContext, { id }: DatabaseRow, time: Date) {
  if (time.getTime() > Date.now()) throw new ApiError('invalidField', { error: 'time must not be in the future' })
  const [backup] = await backupBefore(pool, id, time)
  if (backup !== undefined) return backup
  const [oldest] = await oldestBackup(pool, id)
  const since = oldest === undefined ? 'the first backup, and there is none yet' : oldest.taken_at.toISOString()
  throw new ApiError('invalidField', { error: `time must not be before ${since}` })
}
