import { type AgentLease, leaseBody } from '@offshoot/contract/agent-lease'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { allObeyLease, stoppedVms } from '../sandbox/lifecycle/lease-watch.ts'
import { parseBody } from './request/parse-body.ts'
import { requireControl } from './request/require-credential.ts'

/** `PUT /v1/agent/lease`: renews the host's lease. `DELETE`: the host needs none any more. */
export function leaseRoutes(server: FastifyInstance, { host }: Agent): void {
  const { lease } = host.store
  // Another cluster knows nothing of the lease.
  server.put('/v1/agent/lease', { config: { isDeletion: true } }, async (request): Promise<AgentLease> => {
    requireControl(request)
    const renewal = await lease.renew(parseBody(leaseBody, request.body), allObeyLease(host))
    return { ...lease.state(stoppedVms(host)), ...renewal }
  })
  server.delete('/v1/agent/lease', async (request, reply) => {
    requireControl(request)
    await lease.giveUp()
    return reply.code(204).send()
  })
}
