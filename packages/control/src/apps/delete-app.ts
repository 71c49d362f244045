import type { FastifyInstance } from 'fastify'
import type { Control } from '../control.ts'
import { markAppDeleted } from './app-statements.ts'
import { findApp } from './find-app.ts'
import { removeApp } from './remove-app.ts'

/** `DELETE /v1/apps/{id}`: 204 once its sandboxes are gone, those of older versions too. */
export function deleteApp(app: FastifyInstance, control: Control): void {
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
      await markAppDeleted(control.database.pool, id)
      await removeApp(control, id, request.id)
      return reply.code(204).send()
    },
  })
}
