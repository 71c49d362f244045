import { createDatabaseBody, database } from '@offshoot/contract/database'
import type { SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { CREATE_REFUSALS } from '../billing/limits/create-refusals.ts'
import { createDatabase } from './create-database.ts'
import { presentDatabase } from './present-database.ts'

/** `POST /v1/databases`: answers 201 once a client can connect. If the caller hangs up, the create continues. */
export function postDatabases(app: FastifyInstance, control: DatabasesContext): void {
  app.post('/v1/databases', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Create a PostgreSQL 16 database in a machine of its own',
        tag: 'Databases',
        body: createDatabaseBody,
        status: 201,
        answer: database,
        errors: ['noComputeNode', 'agentUnreachable', 'insufficientMemory', ...CREATE_REFUSALS],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const body = parseBody(request, createDatabaseBody)
      const id = resourceIdOf(request) as SandboxId
      const row = await createDatabase(control, { id, workspaceId, requestId: request.id, body })
      return reply.code(201).send(presentDatabase(control, row))
    },
  })
}
