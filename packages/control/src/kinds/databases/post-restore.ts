import { database, restoreDatabaseBody } from '@offshoot/contract/database'
import type { SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { FORK_ERRORS } from '../sandboxes/forks/fork-errors.ts'
import { parseBody } from '../../platform/http/body.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { presentDatabase } from './present-database.ts'
import { findDatabase } from './find-database.ts'
import { restoreDatabase } from './restore-database.ts'

/**
 * `POST /v1/databases/{id}/restore`: answers 201 with a new database in the state that this one had at a time since its
 * oldest backup.
 */
export function postRestore(app: FastifyInstance, control: DatabasesContext): void {
  app.post('/v1/databases/:id/restore', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Make another database, as this one was at a time since its oldest backup',
        tag: 'Databases',
        body: restoreDatabaseBody,
        status: 201,
        answer: database,
        errors: FORK_ERRORS,
      },
    },
    handler: async (request, reply) => {
      const parent = await findDatabase(control, request)
      const { label = null, time } = parseBody(request, restoreDatabaseBody)
      const id = resourceIdOf(request) as SandboxId
      const row = await restoreDatabase(control, { parent, id, label, requestId: request.id }, new Date(time))
      return reply.code(201).send(presentDatabase(control, row))
    },
  })
}
