import { event } from '@offshoot/contract/event'
import { eventListQuery } from '@offshoot/contract/event-list'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { SandboxesContext } from '../sandboxes-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { decodeCursor } from '../../../platform/http/cursor.ts'
import { pageOf } from '../../../platform/http/page-of.ts'

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
      const last = cursor === undefined ? undefined : decodeCursor(cursor)
      const after = last && { ts: last.createdAt, sandboxId: last.id }
      const listed = await events.list({ workspaceId, types, sandboxId, from, to, after, limit: limit + 1 })
      // No two events of a sandbox have the same time, so time and sandbox identify an event's position in the list.
      const rows = listed.map((each) => ({ created_at: new Date(each.ts), id: each.sandbox_id, each }))
      return pageOf(rows, limit, config.public_url, request, reply).map(({ each }) => each)
    },
  })
}
