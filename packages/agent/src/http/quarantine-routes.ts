import type { AgentQuarantine } from '@offshoot/contract/agent-quarantine'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { listQuarantine, purgeEntry, restoreEntry } from '../sandbox/recovery/quarantine.ts'
import { requireControl } from './request/require-credential.ts'

/** `GET /v1/quarantine`; `POST /v1/quarantine/{entry}/restore`; `DELETE /v1/quarantine/{entry}`. Control calls these for operators. */
export function quarantineRoutes(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/quarantine', async (request): Promise<AgentQuarantine> => {
    requireControl(request)
    return { entries: listQuarantine(host.store) }
  })
  server.post('/v1/quarantine/:entry/restore', async (request, reply) => {
    requireControl(request)
    await restoreEntry(host, entryOf(request))
    return reply.code(204).send()
  })
  server.delete('/v1/quarantine/:entry', async (request, reply) => {
    requireControl(request)
    await purgeEntry(host, entryOf(request))
    return reply.code(204).send()
  })
}

function entryOf({ params }: FastifyRequest): string {
  return (params as { entry: string }).entry
}
