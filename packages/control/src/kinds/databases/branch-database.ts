import { databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { DatabasesContext } from './databases-context.ts'
import { forkSandbox } from '../sandboxes/forks/fork-sandbox.ts'
import { sandboxById } from '../sandboxes/model/sandbox-statements.ts'
import { claimDatabase } from './claim-database.ts'
import { finish, orNothing } from './create-database.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { patchDatabaseRow } from './database-statements.ts'
import { type Branch, provisionChild } from './provision-child.ts'
import { openSecrets } from './model/secrets.ts'

/**
 * A new database with all data that its parent had at one moment, but with credentials of its own. Control forks the
 * parent's sandbox with memory and disk, then gives the fork its own identity before any client can reach it. Steps and
 * failures are those of a create.
 * @throws ApiError as for a fork; nothing is left then
 */
export async function branchDatabase(control: DatabasesContext, branch: Branch): Promise<DatabaseRow> {
  const { parent, id, requestId } = branch
  const { pool } = control.database
  const { workspace_id: workspaceId } = parent
  const secrets = await provisionChild(control, branch)
  return orNothing(control, { id, requestId }, async () => {
    const [machine] = await sandboxById(pool, parent.id)
    if (machine === undefined) throw new ApiError('notFound')
    const manager = { by: 'database', id } as const
    await forkSandbox(control, { parent: machine, count: null, metadata: {}, ids: [id], manager }, requestId)
    const { adminToken } = openSecrets(control.databaseSecrets, parent.secrets)
    const formerly = { user: databaseUser(parent.id), adminToken }
    const row = await finish(control, { id, workspaceId }, (made) =>
      claimDatabase(control.fleet, made, { secrets, formerly }),
    )
    // The fork's sandbox has the parent's setting, so the row needs it too.
    await patchDatabaseRow(pool, id, null, null, parent.always_on)
    return { ...row, always_on: parent.always_on }
  })
}
