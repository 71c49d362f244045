import {
  type AgentBakes,
  type AgentLeave,
  exportQuery,
  importQuery,
  leaveBody,
  settleBody,
} from '@offshoot/contract/agent-move'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { importSandbox } from '../sandbox/moves/import.ts'
import { exportSandbox, leaveHost } from '../sandbox/moves/leave.ts'
import { settleMove } from '../sandbox/moves/settle.ts'
import { parseBody } from './request/parse-body.ts'
import { parseQuery } from './request/parse-query.ts'
import { ownSandbox, requireControl } from './request/require-credential.ts'
import { receiveImport, sendExport, withStreamBodies } from './move-streams.ts'

const status = { config: { isStatus: true } }

/**
 * `POST /v1/sandboxes/{id}/leave`, `GET …/export`, `PUT …/import`, `POST …/settle` and `GET /v1/bakes`: a hibernated sandbox
 * moves to another host (docs/internal-api.md).
 */
export function moveRoutes(server: FastifyInstance, agent: Agent): void {
  const { host, stopping } = agent
  imports(server, agent)
  server.get('/v1/bakes', async (request): Promise<AgentBakes> => {
    requireControl(request)
    return { hashes: await host.store.bakeContents.hashes() }
  })
  server.post('/v1/sandboxes/:id/leave', status, async (request): Promise<AgentLeave> => {
    const { move_id: moveId } = parseBody(leaveBody, request.body)
    return leaveHost(host, find(agent, request), moveId)
  })
  server.get('/v1/sandboxes/:id/export', status, async (request, reply) => {
    if (stopping.aborted) throw new ApiError('shuttingDown')
    const { move_id: moveId, have, only } = parseQuery(exportQuery, request)
    const stream = await exportSandbox(host, find(agent, request), { moveId, have, only })
    return sendExport(reply, stream, stopping, only)
  })
  server.post('/v1/sandboxes/:id/settle', { config: { isStatus: true, isDeletion: true } }, async (request, reply) => {
    const { move_id: moveId, outcome } = parseBody(settleBody, request.body)
    const id = idOf(request)
    if (outcome === 'gone') await host.arrivals.cancel(id, request.caller.workspaceId, moveId)
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox !== null) await settleMove(host, sandbox, { moveId, outcome })
    else if (outcome === 'stay' || host.sandboxes.has(id)) throw new ApiError('sandboxNotFound')
    return reply.code(204).send()
  })
}

function imports(server: FastifyInstance, { host, stopping }: Agent): void {
  withStreamBodies(server, (scope) => {
    scope.put('/v1/sandboxes/:id/import', status, async (request): Promise<AgentSandbox> => {
      const { move_id: moveId } = parseQuery(importQuery, request)
      const id = idOf(request)
      const sandbox = await receiveImport(request, stopping, (body, workspaceId) =>
        importSandbox(host, { id, workspaceId, moveId }, body),
      )
      return sandbox.show(host.store.events.position(id)?.seq ?? 0)
    })
  })
}

function idOf({ params }: FastifyRequest): SandboxId {
  const id = parseSandboxId((params as { id: string }).id)
  if (id === null) throw new ApiError('sandboxNotFound')
  return id
}

function find({ host }: Agent, request: FastifyRequest): Sandbox {
  const sandbox = ownSandbox(host.sandboxes, request)
  if (sandbox === null) throw new ApiError('sandboxNotFound')
  return sandbox
}
