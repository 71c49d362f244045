import { spentCreditBody } from '@offshoot/contract/agent-api'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { requireControl } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'

/** `PUT /v1/agent/spent-credit`: which workspaces may start nothing from now on. */
export function putSpentCredit(server: FastifyInstance, { host }: Agent): void {
  server.put('/v1/agent/spent-credit', async (request, reply) => {
    requireControl(request)
    await host.credit.replace(parseBody(spentCreditBody, request.body))
    return reply.code(204).send()
  })
}
