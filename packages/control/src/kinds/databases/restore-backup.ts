import { DATABASE_TEMPLATES, databaseUser } from '@offshoot/contract/database'
import type { DatabasesContext } from './databases-context.ts'
import { createSandbox } from '../sandboxes/create-sandbox.ts'
import type { BackupRow } from './backup-statements.ts'
import { claimDatabase } from './claim-database.ts'
import { finish, orNothing } from './create-database.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { resize } from './grow-disk.ts'
import { type Branch, provisionChild } from './provision-child.ts'
import { openSecrets } from './model/secrets.ts'

/**
 * A new database with all data of a backup of another. Steps and failures are those of a create.
 * @throws ApiError as for a create from a snapshot; nothing is left then
 */
export async function restoreBackup(
  control: DatabasesContext,
  branch: Branch,
  backup: BackupRow,
): Promise<DatabaseRow> {
  const { parent, id, requestId } = branch
  const { workspace_id: workspaceId, size, idle_timeout_seconds } = parent
  const secrets = await provisionChild(control, branch)
  return orNothing(control, { id, requestId }, async () => {
    await createSandbox(control, {
      id,
      workspaceId,
      requestId,
      manager: { by: 'database', id },
      body: {
        template: DATABASE_TEMPLATES[size],
        from_snapshot: backup.id,
        persistent: true,
        idle_timeout_seconds,
      } as unknown as Parameters<typeof createSandbox>[1]['body'],
    })
    const { adminToken } = openSecrets(control.databaseSecrets, backup.secrets)
    const formerly = { user: databaseUser(parent.id), adminToken }
    return finish(control, { id, workspaceId }, async (made) => {
      await claimDatabase(control.fleet, made, { secrets, formerly })
      // The parent's disk may have grown since the backup.
      await resize(control, made, parent.disk_mb, requestId)
    })
  })
}
