import { database, databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { DatabasesContext } from './databases-context.ts'
import { underLease } from '../../platform/db/lease.ts'
import { parseBody } from '../../platform/http/body.ts'
import { claimDatabase } from './claim-database.ts'
import type { DatabaseRow } from './database-row.ts'
import { presentDatabase } from './present-database.ts'
import { databaseLease, readyDatabase, setDatabaseSecrets } from './database-statements.ts'
import { findDatabase } from './find-database.ts'
import { closeSecrets, makeSecrets, openSecrets, sha256 } from './secrets.ts'

/** `POST /v1/databases/{id}/reset-credentials`: what opened it opens it no more, and every connection ends. */
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
 * One at a time: what is kept is what the database was told last. A process that dies between the two leaves a database that is told
 * again by the next reset, because the key to that stays the same.
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
