import type { AgentRecord } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import {
  DEFAULT_EVENT_TAIL,
  eventCode,
  eventsQuery,
  type Event,
  type EventsQuery,
  type EventsSince,
} from '@offshoot/contract/event'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import type { SandboxEvents } from '../store/events/sandbox-events.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { ownSandbox } from './request/require-credential.ts'
import { formatFrame, sendEventStream } from './streams/send-event-stream.ts'
import { lastEventId, parseQuery } from './request/parse-query.ts'

/** `GET /v1/sandboxes/{id}/events`: the latest events, or those after `since`, as an array or as a live stream. */
export function getEvents(server: FastifyInstance, { id: agentId, host, stopping }: Agent): void {
  server.get('/v1/sandboxes/:id/events', { config: { isStatus: true } }, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    const query = parseQuery(eventsQuery, request)
    const resumed = query.follow ? lastEventId(request) : undefined
    const after = resumed ?? (await cursorOf(sandbox.events, query))
    const since = resumed === undefined ? query.since : undefined
    if (!query.follow) {
      const records = await sandbox.events.snapshot(after)
      return records.filter((record) => isAfter(record, since)).map(({ event }) => event)
    }
    return sendEventStream(reply, stopping, async function* frames(signal) {
      for await (const delivery of sandbox.events.follow(after, signal)) {
        if ('dropped' in delivery) yield droppedFrame(sandbox, agentId, delivery.dropped)
        else
          yield delivery
            .filter((record) => isAfter(record, since))
            .map(recordFrame)
            .join('')
      }
    })
  })
}

/** `tail` applies to the events that `since` selects. `tail` alone needs only events in memory. */
async function cursorOf(events: SandboxEvents, { tail, since }: EventsQuery): Promise<number> {
  if (since === undefined) return Math.max(events.firstInMemory - 1, events.last - (tail ?? DEFAULT_EVENT_TAIL))
  const cursor = await events.cursorOf(since)
  return tail === undefined ? cursor : Math.max(cursor, events.last - tail)
}

/** Filters out events up to a `since` in the future: no cursor stands for that time yet. */
function isAfter({ event }: AgentRecord, since: EventsSince | undefined): boolean {
  return since === undefined || since.kind === 'number' || Date.parse(event.ts) > since.ms
}

/** Formatted frames, shared by all readers. */
const frames = new WeakMap<AgentRecord, string>()

function recordFrame(record: AgentRecord): string {
  const known = frames.get(record)
  if (known !== undefined) return known
  const frame = formatFrame({ id: record.number, event: 'ev', data: JSON.stringify(record.event) })
  frames.set(record, frame)
  return frame
}

/** Has no id, so that a client that reconnects with its last id gets the dropped events from disk. */
function droppedFrame({ id }: Sandbox, agentId: string, dropped: number): string {
  const type = 'events.dropped'
  const event: Event = {
    ts: new Date().toISOString(),
    sandbox_id: id,
    agent_id: agentId,
    type,
    code: eventCode(type),
    message: `${dropped} events were dropped: this reader fell behind`,
    metadata: { dropped },
  }
  return formatFrame({ event: 'ev', data: JSON.stringify(event) })
}
