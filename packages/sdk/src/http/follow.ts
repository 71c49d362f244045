import { ConnectionError, NotFoundError, ServerError } from './errors.ts'
import { delay } from './deadline.ts'
import { retryDelayMs } from './retries.ts'
import type { ServerEvent } from './server-events.ts'
import { streamFrames } from './routes.ts'
import type { Request, Transport } from './transport.ts'

/** Connections in a row that bring no event. */
const MAX_FRUITLESS = 8

/** How to follow a stream. */
export interface FollowOptions {
  /** Connections in a row that bring no event before it gives up. Default: 8, which takes about half a minute. */
  readonly maxFruitless?: number | undefined
  /** Called when a connection is open, and when one is lost or cannot be made. */
  readonly onConnection?: ((isOpen: boolean) => void) | undefined
}

/** Who follows a stream, and from where. */
export interface Follow extends FollowOptions {
  /** Whether the event is the last one. */
  readonly isLast: (event: ServerEvent) => boolean
  /** Position after which to begin. */
  readonly after?: string | null | undefined
}

/**
 * Yields the events of a stream with positions (`Last-Event-ID`), the last one included. If the connection breaks, it
 * continues after the last event, so none is missing or repeated. It also ends when the followed object is deleted.
 * @throws ConnectionError if several attempts in a row fail; ApiError if the service refuses
 */
export async function* follow(
  transport: Transport,
  request: Request,
  { isLast, after = null, maxFruitless = MAX_FRUITLESS, onConnection }: Follow,
): AsyncGenerator<ServerEvent, void, undefined> {
  let last = after
  let hasBegun = false
  for (let fruitless = 0; ; fruitless++) {
    const headers = { ...request.headers, ...(last !== null && { 'last-event-id': last }) }
    let cause: unknown = null
    try {
      for await (const event of streamFrames(transport, { ...request, headers }, () => onConnection?.(true))) {
        fruitless = 0
        hasBegun = true
        last = event.id ?? last
        yield event
        if (isLast(event)) return
      }
      hasBegun = true
    } catch (error) {
      if (error instanceof NotFoundError && hasBegun) return
      if (!(error instanceof ConnectionError || (error instanceof ServerError && hasBegun))) throw error
      cause = error
    }
    onConnection?.(false)
    if (fruitless >= maxFruitless)
      throw new ConnectionError(`${request.path}: the stream ends again and again`, { cause })
    await delay(retryDelayMs(fruitless, null) ?? 0, request.signal)
  }
}

/** The data of the events `message` and `line` of such a stream, until `done` or the end of the followed object. */
export async function* followLines(transport: Transport, request: Request): AsyncGenerator<string, void, undefined> {
  for await (const { event, data } of follow(transport, request, { isLast: ({ event }) => event === 'done' })) {
    if (event !== 'done') yield data
  }
}
