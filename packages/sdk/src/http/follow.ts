import { resumed } from './resumed.ts'
import { Opened } from './routes.ts'
import type { ServerEvent } from './server-events.ts'
import type { Request, Transport } from './transport.ts'

/** How to follow a stream. */
export interface FollowOptions {
  /**
   * Connections in a row that end within two minutes and bring no event before it gives up. Default: 8, which takes about
   * half a minute.
   */
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
  /** Called with the position before the first event, if `after` names none and the service tells it. */
  readonly onPosition?: ((position: string) => void) | undefined
}

/**
 * Yields the events of a stream with positions (`Last-Event-ID`), the last one included. If the connection breaks, it
 * continues after the last event, so none is missing or repeated. It also ends when the followed object is deleted.
 * @throws ConnectionError if several attempts in a row fail; ApiError if the service refuses
 */
export async function* follow(
  transport: Transport,
  request: Request,
  { isLast, after = null, maxFruitless, onConnection, onPosition }: Follow,
): AsyncGenerator<ServerEvent, void, undefined> {
  let last = after
  const next = () => ({ ...request, headers: { ...request.headers, ...(last !== null && { 'last-event-id': last }) } })
  for await (const frame of resumed(transport, next, { maxFruitless })) {
    if (frame === 'closed') {
      onConnection?.(false)
      continue
    }
    if (frame instanceof Opened) {
      if (last === null && frame.position !== null) onPosition?.(frame.position)
      last ??= frame.position
      onConnection?.(true)
      continue
    }
    last = frame.id ?? last
    yield frame
    if (isLast(frame)) return
  }
}

/** The data of the events `message` and `line` of such a stream, until `done` or the end of the followed object. */
export async function* followLines(transport: Transport, request: Request): AsyncGenerator<string, void, undefined> {
  for await (const { event, data } of follow(transport, request, { isLast: ({ event }) => event === 'done' })) {
    if (event !== 'done') yield data
  }
}
