import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { beginEventStream, HEARTBEAT_MS } from '../../../platform/http/event-stream.ts'
import type { OpenStreams } from '../../../platform/http/open-streams.ts'

/** Milliseconds between two polls for more lines. */
const LOOK_MS = 200

/** The result of one poll. */
export interface SentLines {
  /** Each entry has one or several lines, and the position after them. */
  readonly lines: readonly { readonly id: string; readonly text: string }[]
  /** No more lines will come. */
  readonly isOver: boolean
}

/** Whether the caller's `Accept` asks for events. */
export function wantsEventStream({ headers }: FastifyRequest): boolean {
  return /text\/event-stream/i.test(headers.accept ?? '')
}

/**
 * Sends lines as server-sent events, as plain text in `data:`, starting after the position in `Last-Event-ID`. `event:
 * done` ends the stream.
 * @param look gets the position of an entry that was sent; the empty one at the beginning
 */
export async function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  openStreams: OpenStreams,
  look: (after: string, left: AbortSignal) => Promise<SentLines>,
): Promise<FastifyReply> {
  let { after, skipped } = positionOf(request.headers['last-event-id'])
  const raw = beginEventStream(reply)
  const left = new AbortController()
  raw.once('close', () => left.abort())
  const forget = openStreams.add(() => raw.destroy())
  const heartbeat = setInterval(() => raw.write(': \n\n'), HEARTBEAT_MS)
  try {
    while (!left.signal.aborted) {
      const { lines, isOver } = await look(after, left.signal)
      for (const { id, text } of lines) {
        const frames = framesOf(text, after, id).slice(skipped)
        ;[after, skipped] = [id, 0]
        if (!raw.write(frames.join(''))) await drained(raw, left.signal)
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

/**
 * One frame per line. The last one has the position of the entry. Those before it have the position of the entry before
 * and the number of the line, so that a client that reconnects misses and repeats no line.
 */
function framesOf(text: string, before: string, id: string): string[] {
  const lines = text.replace(/\r?\n$/, '').split(/\r\n|\n|\r/)
  return lines.map((line, at) => `id: ${at === lines.length - 1 ? id : `${before}:${at + 1}`}\ndata: ${line}\n\n`)
}

/** What a client has received: entries, and lines of the entry after them. */
function positionOf(header: string | string[] | undefined): { after: string; skipped: number } {
  const [, after = '', skipped = '0'] = /^([\w=,-]*)(?::(\d{1,9}))?$/.exec(String(header ?? '')) ?? []
  return { after, skipped: Number(skipped) }
}

async function drained(raw: NodeJS.WritableStream, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  raw.once('drain', resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
