import {
  agentQuarantine,
  hostQuarantine,
  hostQuarantineQuery,
  type QuarantineEntry,
} from '@offshoot/contract/agent-quarantine'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuse } from '../../../fleet/agent-failure.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { cutPage, decodeCursor, type ListOrder } from '../../../platform/http/page-of.ts'
import { operatedHost } from './operated-host.ts'

/** Milliseconds for an agent to move, adopt or remove an object of many gigabytes. */
const ACT_MS = 60_000
/** The form of an agent's entry ids. */
const ENTRY = /^[0-9a-z-]{1,64}$/
const TAG = 'Operators'
/** The agent answers with all entries, and control pages them. */
const ORDER: ListOrder<QuarantineEntry> = {
  name: 'quarantine',
  direction: 'asc',
  keys: [
    { sql: 'since', type: 'text', of: ({ since }) => since },
    { sql: 'entry', type: 'text', of: ({ entry }) => entry },
  ],
}

/**
 * `GET /v1/hosts/{id}/quarantine`, `POST …/{entry}/restore`, `DELETE …/{entry}`: the objects that an agent neither uses
 * nor deletes, because they have no owner or their record cannot be read (docs/recovery.md). `self` names the host if
 * there is only one.
 */
export function hostQuarantineRoutes(app: FastifyInstance, { config, fleet }: OrgsContext): void {
  const ask = async (request: FastifyRequest, method: 'GET' | 'POST' | 'DELETE', path = '') => {
    const agent = operatedHost(fleet, request)
    const call = { method, path: `/v1/quarantine${path}`, requestId: request.id, timeoutMs: ACT_MS } as const
    return agent.client.ask(method === 'POST' ? { ...call, body: '{}' } : call).catch(refuse)
  }
  app.get('/v1/hosts/:id/quarantine', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'What a host neither uses nor deletes, the oldest first',
        tag: TAG,
        query: hostQuarantineQuery,
        status: 200,
        answer: hostQuarantine,
        errors: ['invalidField', 'notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      const { limit, cursor, ...filters } = parseWith(hostQuarantineQuery, request.query)
      const listed = { order: ORDER, owner: operatedHost(fleet, request).info.agent_id }
      const [since = '', after = ''] = cursor === undefined ? [] : decodeCursor(listed, cursor)
      const { entries } = agentQuarantine.parse(await ask(request, 'GET'))
      const rows = entries
        .filter(({ state, kind }) => state === (filters.state ?? state) && kind === (filters.kind ?? kind))
        .filter((each) => each.since > since || (each.since === since && each.entry > after))
        .toSorted((a, b) => (a.since < b.since || (a.since === b.since && a.entry < b.entry) ? -1 : 1))
      return limit === undefined ? rows : cutPage(listed, rows, limit, config.public_url, request, reply)
    },
  })
  app.post('/v1/hosts/:id/quarantine/:entry/restore', {
    config: {
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Bring an object back: to its place from quarantine, or into use once its record is repaired',
        tag: TAG,
        status: 204,
        errors: ['notFound', 'conflict', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      await ask(request, 'POST', `/${entryOf(request)}/restore`)
      return reply.code(204).send()
    },
  })
  app.delete('/v1/hosts/:id/quarantine/:entry', {
    config: {
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Remove an object for good',
        tag: TAG,
        status: 204,
        errors: ['notFound', 'agentUnreachable'],
      },
    },
    handler: async (request, reply) => {
      await ask(request, 'DELETE', `/${entryOf(request)}`)
      return reply.code(204).send()
    },
  })
}

function entryOf({ params }: FastifyRequest): string {
  const { entry } = params as { entry: string }
  if (!ENTRY.test(entry)) throw new ApiError('notFound')
  return entry
}
