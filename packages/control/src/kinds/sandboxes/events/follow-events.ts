import { setTimeout as delay } from 'node:timers/promises'
import { type EventPosition, parseEventId } from '@offshoot/contract/event-list'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceEvent } from '@offshoot/contract/workspace-event'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EventFilter } from '../model/event-store.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { beginEventStream, HEARTBEAT_MS } from '../../../platform/http/event-stream.ts'

/** Events read at once. */
const PAGE = 500
/** Milliseconds after a failed read. */
const RETRY_MS = 500
/** Milliseconds after which a stream ends, so that a credential that was revoked does not read on for ever. */
const MAX_STREAM_MS = 3_600_000
/** Streams of one workspace, and of all, in this process. */
const streams = new FairLimit(100, 2_000)

export interface Followed {
  readonly filter: EventFilter
  /** Sent first. */
  readonly first: readonly WorkspaceEvent[]
  readonly after: EventPosition
}

/**
 * Sends events as server-sent events in the order of their arrival, then each new one. A reader that is slow gets its
 * events later, and none is dropped: they are read from the database when the reader has taken the ones before.
 * @throws ApiError 429 if the workspace follows too often
 */
export async function followEvents(
  { events, eventFeed, openStreams }: SandboxesContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { filter, first, after }: Followed,
): Promise<FastifyReply> {
  const release = streams.take(filter.workspaceId)
  if (release === null) throw new ApiError('tooManyRequests', { detail: 'too many streams of events are open' })
  const raw = beginEventStream(reply)
  const left = new AbortController()
  const news = new Bell()
  raw.once('close', () => left.abort())
  const forget = openStreams.add(() => raw.destroy())
  const unlisten = eventFeed.listen(filter.workspaceId, () => news.ring())
  left.signal.addEventListener('abort', () => news.ring(), { once: true })
  const heartbeat = setInterval(() => raw.write(': \n\n'), HEARTBEAT_MS)
  const end = setTimeout(() => left.abort(), MAX_STREAM_MS)
  try {
    await send(raw, first, left.signal)
    let position = after
    while (!left.signal.aborted) {
      const page = await events.arrived(filter, position, PAGE).catch((error: unknown) => {
        request.log.warn({ err: error }, 'followed events not read: trying again')
        return null
      })
      if (page === null) {
        await delay(RETRY_MS, undefined, { signal: left.signal }).catch(() => undefined)
        continue
      }
      await send(raw, page, left.signal)
      const last = page.at(-1)
      if (last !== undefined) position = parseEventId(last.id) ?? position
      if (page.length < PAGE) await news.rung()
    }
    raw.end()
  } catch (error) {
    request.log.warn({ err: error }, 'followed events broken off')
    raw.destroy()
  } finally {
    clearInterval(heartbeat)
    clearTimeout(end)
    left.abort()
    unlisten()
    forget()
    release()
  }
  return reply
}

async function send(raw: NodeJS.WritableStream, page: readonly WorkspaceEvent[], left: AbortSignal): Promise<void> {
  const frames = page.map((event) => `event: ev\nid: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  if (frames === '' || left.aborted || raw.write(frames)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  raw.once('drain', resolve)
  left.addEventListener('abort', () => resolve(), { once: true })
  await promise
}

/** Remembers a ring until somebody waits for one. */
class Bell {
  #hasRung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#hasRung = true
    this.#wake?.()
  }

  async rung(): Promise<void> {
    if (!this.#hasRung) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
      this.#wake = null
    }
    this.#hasRung = false
  }
}
