import { createOnAgentBody, type AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import { parseSandboxId } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../agent.ts'
import { createSandbox } from '../sandboxes/create.ts'
import { parseBody } from './parse-body.ts'

/** `POST /v1/sandboxes`: answers when the guest has answered. A caller that leaves does not undo it: control deletes. */
export function postSandbox(server: FastifyInstance, agent: Agent): void {
  server.post('/v1/sandboxes', async (request, reply): Promise<AgentSandbox> => {
    const { workspaceId } = request.caller
    if (workspaceId === null) throw new ApiError('invalidField', { error: 'the credential names no workspace' })
    const body = parseBody(createOnAgentBody, request.body)
    const id = parseSandboxId(body.id)
    if (id === null) throw new ApiError('invalidField', { error: 'id must be a lower-case UUID' })
    const baked = agent.templates.get(body.template)
    if (!baked) throw missingTemplate(agent, body.template)
    if (agent.stopping.aborted) throw new ApiError('shuttingDown')
    const sandbox = await createSandbox(agent.host, { id, workspaceId, baked, env: body.env })
    agent.sshProbes.watch(sandbox)
    void reply.code(201)
    return sandbox.show(agent.host.events.position(id)?.seq ?? 0)
  })
}

function missingTemplate({ broken }: Agent, template: string): ApiError {
  if (!broken.has(template)) return new ApiError('notFound', { detail: `no template ${template} on this agent` })
  return new ApiError('internal', { error: 'sandbox could not be started' }, { cause: broken.get(template) })
}
