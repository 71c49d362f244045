import { ApiError } from '@offshoot/contract/errors'
import { type AgentUsage, metricsQuery, type SandboxMetrics } from '@offshoot/contract/sandbox-metrics'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { ownSandbox, requireControl } from '../request/require-credential.ts'
import { parseQuery } from '../request/parse-query.ts'

/**
 * `GET /v1/sandboxes/{id}/metrics`: what a sandbox uses, now and over the last hour. Does not wake the sandbox or count
 * as activity.
 * `GET /v1/agent/usage`: the latest sample of every sandbox with a VM, for control, which shows it to operators.
 */
export function sandboxMetrics(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/sandboxes/:id/metrics', { config: { isStatus: true } }, async (request): Promise<SandboxMetrics> => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    return host.usage.show(sandbox, parseQuery(metricsQuery, request))
  })
  server.get('/v1/agent/usage', async (request): Promise<AgentUsage> => {
    requireControl(request)
    return host.usage.list()
  })
}
