import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import { sandboxOf } from '../../fleet/admitted-sandbox.ts'
import { removeSandbox } from './model/remove-sandbox.ts'

/** `DELETE /v1/sandboxes/{id}`: answers 204 once the VM and its folder are gone. */
export function deleteSandbox(app: FastifyInstance, control: SandboxesContext): void {
  app.delete('/v1/sandboxes/:id', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      managed: 'open',
      docs: {
        summary: 'Delete a sandbox',
        tag: 'Sandboxes',
        status: 204,
        errors: ['notFound', 'sandboxManaged', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const row = sandboxOf(request)
      if (row.managed_by !== null) throw new ApiError('sandboxManaged')
      await removeSandbox(control, row, request.id)
      control.locations.forget(row.id)
      return reply.code(204).send()
    },
  })
}
