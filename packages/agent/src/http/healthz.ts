import type { FastifyInstance } from 'fastify'
import type { Agent } from '../agent.ts'

/** `GET /healthz`, without a credential: that the agent is up, and at which tiers it runs. */
export function healthz(server: FastifyInstance, agent: Agent): void {
  server.get('/healthz', { config: { isPublic: true } }, async () => ({
    status: 'ok',
    checks: { accelerator: agent.accelerator, isolation: agent.isolation, network: 'none' },
  }))
}
