import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { findOwnSnapshot } from './find-snapshot.ts'
import { removeSnapshot } from './remove-snapshot.ts'

/**
 * `DELETE /v1/snapshots/{id}`: answers 204. The agent keeps data that other objects depend on until the last of them is
 * gone.
 */
export function deleteSnapshot(app: FastifyInstance, control: SandboxesContext): void {
  app.delete('/v1/snapshots/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Delete a snapshot', tag: 'Snapshots', status: 204, errors: ['notFound', 'agentUnreachable'] },
    },
    handler: async (request, reply) => {
      const { id } = request.params as { id: string }
      const row = await findOwnSnapshot(control.database, callerOf(request), id)
      if (row === undefined) throw new ApiError('notFound')
      await removeSnapshot(control, row, request.id)
      return reply.code(204).send()
    },
  })
}
