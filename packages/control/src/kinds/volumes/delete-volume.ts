import type { FastifyInstance } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { findVolume } from './find-volume.ts'
import { removeVolume } from './remove-volume.ts'

/** `DELETE /v1/volumes/{name}`: answers 204 once the data is gone, or 409 while a sandbox has it attached. */
export function deleteVolume(app: FastifyInstance, control: BillingContext): void {
  app.delete('/v1/volumes/:name', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Delete a volume and what is in it',
        tag: 'Volumes',
        status: 204,
        errors: ['notFound', 'volumeAttached', 'recordUnreadable', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      await removeVolume(control, await findVolume(control, request), request.id)
      return reply.code(204).send()
    },
  })
}
