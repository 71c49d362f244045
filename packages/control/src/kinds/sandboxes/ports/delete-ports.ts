import { ApiError } from '@offshoot/contract/errors'
import { parsePort, portToRemove } from '@offshoot/contract/port'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { removePort } from './port-statements.ts'

const URL = '/v1/sandboxes/:id/ports'
const query = z.object({ port: z.string().optional() })

/**
 * `DELETE …/ports/{port}`, `…/ports?port=` and `…/ports` with a body: removes the name. The listening program is not
 * affected.
 */
export function deletePorts(app: FastifyInstance, control: SandboxesContext): void {
  const shared = { tag: 'Ports', status: 204, errors: ['invalidField', 'notFound'] } as const
  const admission = { credential: 'key-or-jwt', loads: 'sandbox' } as const
  app.delete(`${URL}/:port`, {
    config: { ...admission, docs: { ...shared, summary: 'Take the name of a port away' } },
    handler: (request, reply) => remove(control, request, reply, (request.params as { port: string }).port),
  })
  app.delete(URL, {
    config: {
      ...admission,
      docs: { ...shared, summary: 'Take the name of a port away', query, body: portToRemove },
    },
    handler: (request, reply) => remove(control, request, reply, (request.query as { port?: unknown }).port),
  })
}

async function remove(
  { database }: SandboxesContext,
  request: FastifyRequest,
  reply: FastifyReply,
  named: unknown,
): Promise<FastifyReply> {
  const port = named === undefined ? parseBody(request, portToRemove).port : parsePort(named)
  if (port === null) throw new ApiError('invalidField', { error: 'port must be a number from 1 to 65535' })
  const [removed] = await removePort(database.pool, sandboxOf(request).id, port)
  if (removed === undefined) throw new ApiError('notFound')
  return reply.code(204).send()
}
