import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import type { EventLog } from '../store/events/event-log.ts'
import { requireControl } from './request/require-credential.ts'
import { formatFrame, sendEventStream } from './streams/send-event-stream.ts'

/** `GET /v1/agent/events?after=N`: the log from the record after N, then live. */
export function getAgentEvents(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/agent/events', { config: { isForEdge: true } }, async (request, reply) => {
    requireControl(request)
    const after = position(request.headers['last-event-id'] ?? (request.query as { after?: unknown }).after)
    return sendEventStream(reply, stopping, (signal) => frames(host.events, after, signal))
  })
}

async function* frames(events: EventLog, after: number, signal: AbortSignal): AsyncGenerator<string> {
  for await (const records of events.follow(after, signal)) {
    yield records
      .map((record) => formatFrame({ id: record.seq, event: 'record', data: JSON.stringify(record) }))
      .join('')
  }
}

function position(text: unknown): number {
  if (text === undefined) return 0
  const number = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null
  if (number === null) throw new ApiError('invalidField', { error: 'after must be a number' })
  return number
}
