import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { deleteSandbox } from '../sandbox/lifecycle/delete.ts'
import { ownSandbox } from './request/require-credential.ts'

/** `DELETE /v1/sandboxes/{id}`: 204 also for one that is already gone; 404 for another workspace's. */
export function deleteSandboxRoute(server: FastifyInstance, { host }: Agent): void {
  server.delete('/v1/sandboxes/:id', async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox) await deleteSandbox(host, sandbox)
    else if (isForeign(host.sandboxes, (request.params as { id: string }).id)) throw new ApiError('sandboxNotFound')
    return reply.code(204).send()
  })
}

function isForeign(sandboxes: ReadonlyMap<string, unknown>, text: string): boolean {
  const id = parseSandboxId(text)
  return id === null || sandboxes.has(id)
}
