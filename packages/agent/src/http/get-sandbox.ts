import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { ownSandbox } from './request/require-credential.ts'

/** `GET /v1/sandboxes/{id}` */
export function getSandbox(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/sandboxes/:id', { config: { isForEdge: true } }, async (request): Promise<AgentSandbox> => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    return sandbox.show(host.events.position(sandbox.id)?.seq ?? 0)
  })
}
