import { once } from 'node:events'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Agent } from '../agent.ts'
import { requireControl } from './credential.ts'

const HEARTBEAT_MS = 15_000

/**
 * `GET /v1/agent/events?after=N`: the log from the record after N, then live.
 * The reader sets the pace: the next records are only read once it has taken the last ones.
 */
export function getAgentEvents(server: FastifyInstance, agent: Agent): void {
  server.get('/v1/agent/events', async (request, reply) => {
    requireControl(request)
    const after = position(request.headers['last-event-id'] ?? (request.query as { after?: unknown }).after)
    const ended = new AbortController()
    reply.raw.once('close', () => ended.abort())
    reply.hijack()
    await stream(reply, agent, after, AbortSignal.any([ended.signal, agent.stopping])).catch((error: unknown) => {
      if (!ended.signal.aborted) request.log.error({ err: error }, 'event stream failed')
    })
    reply.raw.end()
    return reply
  })
}

async function stream(reply: FastifyReply, { host }: Agent, after: number, signal: AbortSignal): Promise<void> {
  const { raw } = reply
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-request-id': reply.request.id,
  })
  raw.write(': connected\n\n')
  const heartbeat = setInterval(() => {
    // Nothing to a reader that has not taken what it already has.
    if (!raw.writableNeedDrain) raw.write(': alive\n\n')
  }, HEARTBEAT_MS)
  try {
    for await (const records of host.events.follow(after, signal)) {
      const frames = records.map((record) => `id: ${record.seq}\nevent: record\ndata: ${JSON.stringify(record)}\n\n`)
      if (!raw.write(frames.join(''))) await once(raw, 'drain', { signal })
    }
  } finally {
    clearInterval(heartbeat)
  }
}

function position(text: unknown): number {
  if (text === undefined) return 0
  const number = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null
  if (number === null) throw new ApiError('invalidField', { error: 'after must be a number' })
  return number
}
