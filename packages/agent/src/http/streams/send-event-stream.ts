import { once } from 'node:events'
import type { FastifyReply } from 'fastify'

const HEARTBEAT_MS = 15_000

export interface EventFrame {
  readonly event: string
  /** JSON: no line breaks. */
  readonly data: string
  readonly id?: string | number
}

/** One server-sent event (WHATWG HTML, 9.2). */
export function formatFrame({ event, data, id }: EventFrame): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`
}

/**
 * Responds with server-sent events until the source ends, the caller disconnects or `stopping` aborts. Applies
 * backpressure: pulls the next frames from the source after the caller has read the previous ones.
 * @param source yields whole frames, and ends when its signal aborts
 * @param position of the frame before the first. A client that loses its connection before the first event continues there.
 */
export async function sendEventStream(
  reply: FastifyReply,
  stopping: AbortSignal,
  source: (signal: AbortSignal) => AsyncIterable<string>,
  position?: number,
): Promise<FastifyReply> {
  const { raw, request } = reply
  const ended = new AbortController()
  const end = () => ended.abort()
  raw.once('close', end)
  stopping.addEventListener('abort', end, { once: true })
  if (stopping.aborted || raw.destroyed) end()
  reply.hijack()
  try {
    await stream(reply, ended.signal, source(ended.signal), position)
  } catch (error) {
    if (!ended.signal.aborted) request.log.error({ err: error, request_id: request.id }, 'event stream failed')
  } finally {
    stopping.removeEventListener('abort', end)
    raw.end()
  }
  return reply
}

async function stream(
  { raw, request }: FastifyReply,
  signal: AbortSignal,
  frames: AsyncIterable<string>,
  position: number | undefined,
) {
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-request-id': request.id,
    ...(position !== undefined && { 'last-event-id': String(position) }),
  })
  raw.write(': connected\n\n')
  const heartbeat = setInterval(() => {
    // No heartbeat while the reader is behind: it would only grow the buffer.
    if (!raw.writableNeedDrain) raw.write(': alive\n\n')
  }, HEARTBEAT_MS)
  try {
    for await (const frame of frames) {
      if (!raw.write(frame)) await once(raw, 'drain', { signal })
    }
  } finally {
    clearInterval(heartbeat)
  }
}
