import { agentDisk, hostDisk } from '@offshoot/contract/agent-disk'
import type { FastifyInstance } from 'fastify'
import { refuse } from '../../../fleet/agent-failure.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { operatedHost } from './operated-host.ts'

/** Milliseconds for an agent to examine all of its files. */
const LOOK_MS = 30_000

/** `GET /v1/hosts/{id}/disk`: the disk usage of an agent's host. `self` names the host if there is only one. */
export function getHostDisk(app: FastifyInstance, { fleet }: OrgsContext): void {
  app.get('/v1/hosts/:id/disk', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: "What takes a host's disk",
        tag: 'Operators',
        status: 200,
        answer: hostDisk,
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request) => {
      const agent = operatedHost(fleet, request)
      const call = { method: 'GET', path: '/v1/disk', requestId: request.id, timeoutMs: LOOK_MS } as const
      const disk = agentDisk.parse(await agent.client.ask(call).catch(refuse))
      return { agent_id: agent.info.agent_id, ...disk }
    },
  })
}
