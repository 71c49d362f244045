import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import type { EventLog } from '../store/events/event-log.ts'
import { requireControl } from './request/require-credential.ts'
import { formatFrame, sendEventStream } from './streams/send-event-stream.ts'

/** Bytes after which the agent ends control's stream, so that control reconnects and thereby acknowledges what it has stored. */
const ACKNOWLEDGE_EVERY_BYTES = 8 * 1024 * 1024

/**
 * `GET /v1/agent/events?after=N`: the log from the record after N, then live. From control, N is an acknowledgement: it has
 * stored the records up to N, and the agent may delete them.
 */
export function getAgentEvents(server: FastifyInstance, { host, stopping }: Agent): void {
  server.get('/v1/agent/events', { config: { isForEdge: true } }, async (request, reply) => {
    requireControl(request)
    const after = position(request.headers['last-event-id'] ?? (request.query as { after?: unknown }).after)
    const isControl = request.caller.isEdge !== true
    if (isControl) host.store.events.acknowledge(after)
    const maxBytes = isControl ? ACKNOWLEDGE_EVERY_BYTES : Number.POSITIVE_INFINITY
    return sendEventStream(reply, stopping, (signal) => frames(host.store.events, after, maxBytes, signal))
  })
}

async function* frames(events: EventLog, after: number, maxBytes: number, signal: AbortSignal): AsyncGenerator<string> {
  let bytes = 0
  for await (const records of events.follow(after, signal)) {
    const text = records
      .map((record) => formatFrame({ id: record.seq, event: 'record', data: JSON.stringify(record) }))
      .join('')
    yield text
    bytes += text.length
    if (bytes >= maxBytes) return
  }
}

function position(text: unknown): number {
  if (text === undefined) return 0
  const number = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null
  if (number === null) throw new ApiError('invalidField', { error: 'after must be a number' })
  return number
}
