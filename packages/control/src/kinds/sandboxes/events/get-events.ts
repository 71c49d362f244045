import { ApiError } from '@offshoot/contract/errors'
import { DEFAULT_EVENT_TAIL } from '@offshoot/contract/event'
import { eventListQuery, type EventPosition, FIRST_POSITION, parseEventId } from '@offshoot/contract/event-list'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import { workspaceEvent, type WorkspaceEvent } from '@offshoot/contract/workspace-event'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { EventFilter } from '../model/event-store.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { cutPage, decodeCursor, type ListOrder } from '../../../platform/http/page-of.ts'
import { isPastTransaction } from './event-statements.ts'
import { followEvents } from './follow-events.ts'

/** No two events of an object have the same time. */
const ORDER: ListOrder<WorkspaceEvent> = {
  name: 'events',
  direction: 'desc',
  keys: [
    { sql: 'ts', type: 'timestamptz', of: ({ ts }) => ts },
    { sql: 'object_id', type: 'uuid', of: ({ object: { id } }) => id },
  ],
}

type Query = z.output<typeof eventListQuery>

/** `GET /v1/events`: the events of the caller's workspace, as a list of pages, as an array, or as a stream. */
export function getEvents(app: FastifyInstance, control: SandboxesContext): void {
  const { config, events } = control
  app.get('/v1/events', {
    config: {
      credential: 'key-or-jwt',
      takesQueryToken: true,
      docs: {
        summary: 'Read the events of 90 days, newest first, or follow them (server-sent events)',
        tag: 'Events',
        query: eventListQuery,
        status: 200,
        answer: z.array(workspaceEvent),
        also: [{ status: 200, mediaType: 'text/event-stream' }],
        errors: ['invalidField', 'tooManyRequests'],
      },
    },
    handler: async (request, reply) => {
      const { workspaceId } = callerOf(request)
      const query = parseWith(eventListQuery, request.query)
      const { limit = DEFAULT_LIST_LIMIT, cursor, since, tail, follow } = query
      const filter = filterOf(workspaceId, query)
      if (since === undefined && tail === undefined && !follow) {
        const listed = { order: ORDER, owner: workspaceId }
        const [ts, id] = cursor === undefined ? [] : decodeCursor(listed, cursor)
        const after = ts === undefined ? undefined : { ts: String(ts), objectId: String(id) }
        const rows = await events.list(filter, after, limit + 1)
        return cutPage(listed, rows, limit, config.public_url, request, reply)
      }
      if (cursor !== undefined) {
        throw new ApiError('invalidField', { error: 'cursor cannot be combined with since, tail and follow' })
      }
      if (!follow) {
        const after = await startOf(control, since)
        return tail === undefined ? events.arrived(filter, after, limit) : events.tail(filter, after, tail)
      }
      return followEvents(control, request, reply, await followed(control, request, query, filter))
    },
  })
}

function filterOf(workspaceId: string, { type: types, sandbox_id: sandboxId, object, from, to, since }: Query) {
  // An exclusive time, in milliseconds.
  const later = since?.kind === 'time' ? new Date(Date.parse(since.time) + 1).toISOString() : undefined
  const start = later !== undefined && (from === undefined || later > from) ? later : from
  return { workspaceId, types, sandboxId, object, from: start, to } satisfies EventFilter
}

/** The first events and the position after them. A client that reconnects goes on after the last event that it has. */
async function followed(control: SandboxesContext, request: FastifyRequest, query: Query, filter: EventFilter) {
  const { events } = control
  const header = request.headers['last-event-id']
  const resumed = typeof header === 'string' ? parseEventId(header) : null
  if (resumed !== null) {
    await mustBePast(control, resumed)
    return { filter: { ...filter, from: query.from }, first: [], after: resumed }
  }
  const start = await startOf(control, query.since)
  const tail = query.tail ?? (query.since === undefined ? DEFAULT_EVENT_TAIL : undefined)
  if (tail === undefined) return { filter, first: [], after: start }
  // The end is read first, so that no event comes between the two.
  const end = await events.end()
  const first = tail === 0 ? [] : await events.tail(filter, start, tail)
  const last = first.at(-1)
  return { filter, first, after: (last && parseEventId(last.id)) ?? end }
}

async function startOf(control: SandboxesContext, since: Query['since']): Promise<EventPosition> {
  if (since?.kind !== 'event') return FIRST_POSITION
  await mustBePast(control, since.position)
  return since.position
}

/** After such an id, all events until then would be missed. It may be from before a restored backup. */
async function mustBePast({ database: { pool } }: SandboxesContext, { xid }: EventPosition): Promise<void> {
  const [found] = await isPastTransaction(pool, xid)
  if (found?.is_past !== true) {
    throw new ApiError('invalidField', { error: 'since is the id of no event: begin again without it' })
  }
}
