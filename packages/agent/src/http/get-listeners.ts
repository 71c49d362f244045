import type { AgentListeners } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { detectedPorts } from '../sandbox/ports/detected-ports.ts'
import { ownSandbox } from './request/require-credential.ts'

/** `GET /v1/sandboxes/{id}/listeners`: asks the guest now; none where no guest runs. */
export function getListeners(server: FastifyInstance, { host }: Agent): void {
  server.get(
    '/v1/sandboxes/:id/listeners',
    { config: { isStatus: true } },
    async (request): Promise<AgentListeners> => {
      const sandbox = ownSandbox(host.sandboxes, request)
      if (sandbox === null) throw new ApiError('sandboxNotFound')
      return { ports: await detectedPorts(sandbox) }
    },
  )
}
