import type { FastifyInstance } from 'fastify'
import type { AppsContext } from './model/apps-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { lockApp } from './model/deployment-statements.ts'
import { markAppDeleted } from './model/app-statements.ts'
import { findApp } from './model/find-app.ts'
import { removeApp } from './remove-app.ts'

/** `DELETE /v1/apps/{id}`: answers 204 once its sandboxes are gone, including those of older versions. */
export function deleteApp(app: FastifyInstance, control: AppsContext): void {
  app.delete('/v1/apps/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Delete an app and everything that runs for it',
        tag: 'Apps',
        status: 204,
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const { id } = await findApp(control, request)
      const gone = await transaction(control.database.pool, async (client) => {
        await lockApp(client, id)
        return markAppDeleted(client, id)
      })
      await Promise.all(gone.map((each) => removeApp(control, each.id, request.id)))
      return reply.code(204).send()
    },
  })
}
