import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenStreams } from '../../../platform/http/open-streams.ts'

/** Milliseconds between two looks for more. */
const LOOK_MS = 200
const HEARTBEAT_MS = 15_000

/** What was found at one look. */
export interface SentLines {
  /** Each of one line or several, with the position behind it. */
  readonly lines: readonly { readonly id: string; readonly text: string }[]
  /** Nothing more will come. */
  readonly isOver: boolean
}

/** Whether the caller asks for events by its `Accept`. */
export function wantsEventStream({ headers }: FastifyRequest): boolean {
  return /text\/event-stream/i.test(headers.accept ?? '')
}

/** Lines as server-sent events, plain in `data:`, from the position of `Last-Event-ID` on; `event: done` ends them. */
export async function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  openStreams: OpenStreams,
  look: (after: string, left: AbortSignal) => Promise<SentLines>,
): Promise<FastifyReply> {
  const asked = request.headers['last-event-id']
  let after = typeof asked === 'string' && /^\d{1,18}$/.test(asked) ? asked : '0'
  const own = reply.getHeaders() as Record<string, string | string[]>
  reply.hijack()
  const { raw } = reply
  const left = new AbortController()
  raw.once('close', () => left.abort())
  const forget = openStreams.add(() => raw.destroy())
  raw.writeHead(200, {
    ...own,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  raw.flushHeaders()
  const heartbeat = setInterval(() => raw.write(': \n\n'), HEARTBEAT_MS)
  try {
    while (!left.signal.aborted) {
      const { lines, isOver } = await look(after, left.signal)
      for (const { id, text } of lines) {
        after = id
        if (!raw.write(framesOf(text, id))) await drained(raw, left.signal)
      }
      if (isOver) {
        raw.end('event: done\ndata: \n\n')
        break
      }
      await delay(LOOK_MS, undefined, { signal: left.signal }).catch(() => undefined)
    }
  } catch (error) {
    request.log.warn({ err: error }, 'followed log broken off')
    raw.destroy()
  } finally {
    clearInterval(heartbeat)
    left.abort()
    forget()
  }
  return reply
}

/** A frame a line; the position stands in the last, so that whoever comes back misses none. */
function framesOf(text: string, id: string): string {
  const lines = text.replace(/\r?\n$/, '').split(/\r\n|\n|\r/)
  return lines.map((line, at) => `${at === lines.length - 1 ? `id: ${id}\n` : ''}data: ${line}\n\n`).join('')
}

async function drained(raw: NodeJS.WritableStream, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  raw.once('drain', resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
