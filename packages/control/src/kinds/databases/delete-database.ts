import type { FastifyInstance } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { LEASE_SECONDS } from '../../platform/jobs/task.ts'
import { setDatabaseDeleting } from './database-statements.ts'
import { findDatabase } from './find-database.ts'
import { removeDatabase } from './remove-database.ts'

/**
 * `DELETE /v1/databases/{id}`: answers 204 once the sandbox and the data are gone. The deletion cannot be undone from
 * its first moment.
 */
export function deleteDatabase(app: FastifyInstance, control: DatabasesContext): void {
  app.delete('/v1/databases/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Delete a database and all that is in it',
        tag: 'Databases',
        status: 204,
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const { id } = await findDatabase(control, request)
      await setDatabaseDeleting(control.database.pool, id, LEASE_SECONDS)
      control.brokerConnections.forget(id)
      control.locations.forget(id)
      await removeDatabase(control, id, request.id)
      return reply.code(204).send()
    },
  })
}
