import { branchDatabaseBody, database } from '@offshoot/contract/database'
import type { SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { FORK_ERRORS } from '../sandboxes/forks/fork-errors.ts'
import { parseBody } from '../../platform/http/body.ts'
import { resourceIdOf } from '../../platform/idempotency/idempotency.ts'
import { findBackup } from './backup-routes.ts'
import { branchDatabase } from './branch-database.ts'
import { presentDatabase } from './present-database.ts'
import { findDatabase } from './find-database.ts'
import { restoreBackup } from './restore-backup.ts'

/**
 * `POST /v1/databases/{id}/branch`: answers 201 with a new database that has all current data, or the data of a backup.
 */
export function postBranch(app: FastifyInstance, control: DatabasesContext): void {
  app.post('/v1/databases/:id/branch', {
    config: {
      credential: 'key-or-jwt',
      idempotent: {},
      docs: {
        summary: 'Branch a database: another one with all its data',
        tag: 'Databases',
        body: branchDatabaseBody,
        status: 201,
        answer: database,
        errors: FORK_ERRORS,
      },
    },
    handler: async (request, reply) => {
      const parent = await findDatabase(control, request)
      const { label = null, at } = parseBody(request, branchDatabaseBody)
      const branch = { parent, id: resourceIdOf(request) as SandboxId, label, requestId: request.id }
      const row = await (at === undefined
        ? branchDatabase(control, branch)
        : restoreBackup(control, branch, await findBackup(control, parent, at)))
      return reply.code(201).send(presentDatabase(control, row))
    },
  })
}
