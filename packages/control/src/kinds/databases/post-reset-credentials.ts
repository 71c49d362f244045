import { database, databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { DatabasesContext } from './databases-context.ts'
import { underLease } from '../../platform/db/lease.ts'
import { parseBody } from '../../platform/http/body.ts'
import { claimDatabase } from './claim-database.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { presentDatabase } from './present-database.ts'
import { databaseLease, readyDatabase, setDatabaseSecrets } from './database-statements.ts'
import { findDatabase } from './find-database.ts'
import { closeSecrets, makeSecrets, openSecrets, sha256 } from './model/secrets.ts'

/** `POST /v1/databases/{id}/reset-credentials`: makes the old credentials invalid and ends every connection. */
export function postResetCredentials(app: FastifyInstance, control: DatabasesContext): void {
  app.post('/v1/databases/:id/reset-credentials', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Give a database another password and broker token',
        tag: 'Databases',
        status: 200,
        answer: database,
        errors: ['notFound', 'sandboxNotRunning', 'sandboxStopped', 'agentUnreachable', 'insufficientMemory'],
      },
    },
    handler: async (request) => {
      const row = await findDatabase(control, request)
      parseBody(request, z.object({}))
      return presentDatabase(control, await resetCredentials(control, row))
    },
  })
}

/**
 * A lease serializes the resets, so that the stored secrets are those that the server got last. If the process dies
 * between the two writes, the next reset repairs it, because the admin token stays the same.
 */
async function resetCredentials(control: DatabasesContext, found: DatabaseRow): Promise<DatabaseRow> {
  const { pool } = control.database
  return underLease({ pool, lock: control.lock }, databaseLease(found.id), async (commit) => {
    const [current] = await readyDatabase(pool, found.id)
    if (current === undefined) throw new ApiError('notFound')
    const { adminToken } = openSecrets(control.databaseSecrets, current.secrets)
    const secrets = { ...makeSecrets(), adminToken }
    await claimDatabase(control.fleet, found, { secrets, formerly: { user: databaseUser(found.id), adminToken } })
    const sealed = closeSecrets(control.databaseSecrets, secrets)
    await commit((client) => setDatabaseSecrets(client, found.id, sealed, sha256(secrets.brokerToken)))
    control.brokerConnections.forget(found.id)
    return { ...found, secrets: sealed }
  })
}
