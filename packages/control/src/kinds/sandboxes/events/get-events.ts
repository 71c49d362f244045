import { event, type Event } from '@offshoot/contract/event'
import { eventListQuery } from '@offshoot/contract/event-list'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { cutPage, decodeCursor, type ListOrder } from '../../../platform/http/page-of.ts'

/** No two events of a sandbox have the same time. */
const ORDER: ListOrder<Event> = {
  name: 'events',
  direction: 'desc',
  keys: [
    { sql: 'ts', type: 'timestamptz', of: ({ ts }) => ts },
    { sql: 'sandbox_id', type: 'uuid', of: ({ sandbox_id: id }) => id },
  ],
}

/** `GET /v1/events`: the events of the caller's workspace, from all agents. */
export function getEvents(app: FastifyInstance, { config, events }: SandboxesContext): void {
  app.get('/v1/events', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read the events of 90 days, newest first',
        tag: 'Events',
        query: eventListQuery,
        status: 200,
        answer: z.array(event),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const query = parseWith(eventListQuery, request.query)
      const { limit = DEFAULT_LIST_LIMIT, cursor, type: types, sandbox_id: sandboxId, from, to } = query
      const listed = { order: ORDER, owner: workspaceId }
      const [ts, id] = cursor === undefined ? [] : decodeCursor(listed, cursor)
      const after = ts === undefined ? undefined : { ts: String(ts), sandboxId: String(id) }
      const rows = await events.list({ workspaceId, types, sandboxId, from, to, after, limit: limit + 1 })
      return cutPage(listed, rows, limit, config.public_url, request, reply)
    },
  })
}
