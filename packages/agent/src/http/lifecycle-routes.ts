import {
  type AgentLifecycle,
  agentLifecyclePatch,
  type AgentSandbox,
  hibernateOnAgentBody,
  promoteOnAgentBody,
  wakeOnAgentBody,
} from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { changeLifecycle, wakeUnder } from '../sandbox/lifecycle/change-lifecycle.ts'
import { hibernateSandbox } from '../sandbox/lifecycle/hibernate.ts'
import type { Host } from '../sandbox/model/host.ts'
import { pauseSandbox } from '../sandbox/lifecycle/pause.ts'
import { promoteSandbox } from '../sandbox/lifecycle/promote.ts'
import { resumeSandbox } from '../sandbox/lifecycle/resume.ts'
import type { Sandbox, Wake } from '../sandbox/model/sandbox.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'

const changes: Record<string, (host: Host, sandbox: Sandbox, body: unknown) => Promise<void | Wake>> = {
  pause: (host, sandbox) => pauseSandbox(host, sandbox),
  resume: (host, sandbox) => resumeSandbox(host, sandbox),
  hibernate: (host, sandbox, body) => {
    const { memory: keepsMemory } = parseBody(hibernateOnAgentBody, body)
    return hibernateSandbox(host, sandbox, { keepsMemory })
  },
  wake: async (host, sandbox, body) => wakeUnder(host, sandbox, parseBody(wakeOnAgentBody, body)),
}

/**
 * `POST /v1/sandboxes/{id}/pause|resume|hibernate|wake|promote` → the sandbox, and `/v1/sandboxes/{id}/lifecycle`. The agent
 * finishes a change that it has begun even if the caller disconnects.
 */
export function lifecycleRoutes(server: FastifyInstance, { host, stopping }: Agent): void {
  const find = (request: FastifyRequest): Sandbox => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    return sandbox
  }
  const show = (sandbox: Sandbox): AgentSandbox => sandbox.show(host.store.events.position(sandbox.id)?.seq ?? 0)
  for (const [name, change] of Object.entries(changes)) {
    server.post(`/v1/sandboxes/:id/${name}`, async (request): Promise<AgentSandbox> => {
      const sandbox = find(request)
      if (stopping.aborted) throw new ApiError('shuttingDown')
      const done = await change(host, sandbox, request.body)
      return { ...show(sandbox), ...(done?.isCold === true ? { cold: true } : {}) }
    })
  }
  server.post('/v1/sandboxes/:id/promote', async (request): Promise<AgentSandbox> => {
    const sandbox = find(request)
    await promoteSandbox(host.store, sandbox, parseBody(promoteOnAgentBody, request.body))
    return show(sandbox)
  })
  const status = { config: { isStatus: true } }
  server.get('/v1/sandboxes/:id/lifecycle', status, async (request): Promise<AgentLifecycle> => {
    return showLifecycle(find(request))
  })
  server.patch('/v1/sandboxes/:id/lifecycle', status, async (request): Promise<AgentLifecycle> => {
    const sandbox = find(request)
    await changeLifecycle(host, sandbox, parseBody(agentLifecyclePatch, request.body))
    return showLifecycle(sandbox)
  })
}

function showLifecycle({ manifest, activity }: Sandbox): AgentLifecycle {
  const { persistent, idle_timeout_seconds, visibility } = manifest
  return { persistent, idle_timeout_seconds, visibility, idle_seconds: Math.floor(activity.idleMs / 1000) }
}
