import type { AgentSandboxList } from '@offshoot/contract/agent-api'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { requireControl } from './request/require-credential.ts'

/** `GET /v1/sandboxes`: every sandbox on this agent, true when the log stood at `last_seq`. */
export function listSandboxes(server: FastifyInstance, { host }: Agent): void {
  server.get('/v1/sandboxes', { config: { isForEdge: true } }, async (request): Promise<AgentSandboxList> => {
    requireControl(request)
    const { events, sandboxes, ledger } = host
    const shown = [...sandboxes.values()].map((sandbox) => sandbox.show(events.position(sandbox.id)?.seq ?? 0))
    return { last_seq: events.lastSeq, sandboxes: shown, unreadable: ledger.unreadable.idsOf('sandbox') }
  })
}
