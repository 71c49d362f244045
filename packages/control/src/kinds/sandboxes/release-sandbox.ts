import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import { releasePath, type ReleasedSandbox } from '@offshoot/contract/sandbox-release'
import type { FastifyInstance } from 'fastify'
import { admitEdge } from '../../fleet/admit-edge.ts'
import { refuse } from '../../fleet/agent-failure.ts'
import { sandboxById } from './model/sandbox-statements.ts'
import type { SandboxesContext } from './model/sandboxes-context.ts'

/** `POST /internal/sandboxes/{id}/release`, for edges (contract/sandbox-release.ts). Not part of the public API. */
export function releaseSandbox(app: FastifyInstance, control: SandboxesContext): void {
  app.post(releasePath(':id'), async (request): Promise<ReleasedSandbox> => {
    await admitEdge(control, request)
    const id = parseSandboxId((request.params as { id: string }).id)
    if (id === null) throw new ApiError('notFound')
    await control.held.release(id, request.id).catch(refuse)
    const [row] = await sandboxById(control.database.pool, id)
    if (row === undefined) throw new ApiError('notFound')
    const agent = control.fleet.byId(row.agent_id)
    if (agent === undefined) throw new ApiError('agentUnreachable')
    return { agent_url: agent.client.url }
  })
}
