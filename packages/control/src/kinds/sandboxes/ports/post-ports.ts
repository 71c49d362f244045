import { ApiError } from '@offshoot/contract/errors'
import { MAX_NAMED_PORTS, port, portBody, type Port } from '@offshoot/contract/port'
import { previewUrl } from '@offshoot/contract/preview-address'
import type { FastifyInstance } from 'fastify'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { sandboxOf } from '../../../fleet/admitted-sandbox.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { listeningPorts } from './listening-ports.ts'
import { lockSandbox, namePort, type PortRow } from './port-statements.ts'

/**
 * `POST /v1/sandboxes/{id}/ports`: names or renames a port and answers 201. Nothing needs to listen on the port yet.
 */
export function postPorts(app: FastifyInstance, control: SandboxesContext): void {
  app.post('/v1/sandboxes/:id/ports', {
    config: {
      credential: 'key-or-jwt',
      loads: 'sandbox',
      docs: {
        summary: 'Name a port of a sandbox',
        tag: 'Ports',
        body: portBody,
        status: 201,
        answer: port,
        errors: ['invalidField', 'notFound', 'tooManyPorts', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const row = sandboxOf(request)
      const { port: number, label = null } = parseBody(request, portBody)
      // Asks the agent before it writes: if the agent fails, the request must not leave a name behind.
      const listening = await listeningPorts(control, row, request.id)
      const named = await nameOne(control, row.id, { port: number, label })
      const shown: Port = {
        ...named,
        listening: listening.has(number),
        source: 'user',
        url: previewUrl(control.config.preview, row.id, number),
      }
      return reply.code(201).send(shown)
    },
  })
}

/** @throws ApiError 404 if the sandbox is gone, 429 */
function nameOne({ database }: SandboxesContext, id: string, { port, label }: PortRow): Promise<PortRow> {
  return transaction(database.pool, async (client) => {
    const [sandbox] = await lockSandbox(client, id)
    if (sandbox === undefined) throw new ApiError('notFound')
    const [named] = await namePort(client, id, port, label, MAX_NAMED_PORTS)
    if (named === undefined) throw new ApiError('tooManyPorts', { max: MAX_NAMED_PORTS })
    return named
  })
}
