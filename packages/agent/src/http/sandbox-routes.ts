import type { AgentSandbox, AgentSandboxList } from '@offshoot/contract/agent-api'
import { deleteOnAgentQuery } from '@offshoot/contract/agent-attempt'
import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { deleteSandbox } from '../sandbox/lifecycle/delete.ts'
import { parseQuery } from './request/parse-query.ts'
import { ownSandbox, requireControl } from './request/require-credential.ts'

/** `GET /v1/sandboxes`: every sandbox on this agent, as of the event `last_seq`. */
export function listSandboxes(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/sandboxes', { config: { isForEdge: true } }, async (request): Promise<AgentSandboxList> => {
    requireControl(request)
    const { events, ledger } = host.store
    const { sandboxes } = host
    const shown = [...sandboxes.values()].map((sandbox) => sandbox.show(events.position(sandbox.id)?.seq ?? 0))
    return { last_seq: events.lastSeq, sandboxes: shown, unreadable: ledger.unreadable.idsOf('sandbox') }
  })
}

/** `GET /v1/sandboxes/{id}` */
export function getSandbox(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/sandboxes/:id', { config: { isForEdge: true } }, async (request): Promise<AgentSandbox> => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    return sandbox.show(host.store.events.position(sandbox.id)?.seq ?? 0)
  })
}

/** `DELETE /v1/sandboxes/{id}`: idempotent, 204 if it is already gone; 404 for another workspace's, 409 for another attempt's. */
export function deleteSandboxRoute(server: FastifyInstance, { host }: Agent): void {
  server.delete('/v1/sandboxes/:id', async (request, reply) => {
    const { id } = request.params as { id: string }
    await host.arrivals.cancel(id as SandboxId, request.caller.workspaceId, null)
    const { attempt_id: attempt } = parseQuery(deleteOnAgentQuery, request)
    if (attempt !== undefined) host.givenUpAttempts.note(attempt)
    const sandbox = ownSandbox(host.sandboxes, request)
    if (attempt !== undefined && sandbox !== null && sandbox.manifest.attempt_id !== attempt)
      throw new ApiError('conflict', { detail: 'another attempt has made the sandbox' })
    if (sandbox) await deleteSandbox(host, sandbox)
    else if (isForeign(host.sandboxes, id)) throw new ApiError('sandboxNotFound')
    return reply.code(204).send()
  })
}

function isForeign(sandboxes: ReadonlyMap<string, unknown>, text: string): boolean {
  const id = parseSandboxId(text)
  return id === null || sandboxes.has(id)
}
