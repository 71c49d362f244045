import { delay } from './deadline.ts'
import { ConnectionError, NotFoundError, ServerError } from './errors.ts'
import { retryDelayMs } from './retries.ts'
import { Opened, streamFrames } from './routes.ts'
import type { ServerEvent } from './server-events.ts'
import type { Request, Transport } from './transport.ts'

const MAX_FRUITLESS = 8
/**
 * A connection that was open for so many milliseconds has worked, even if it brought nothing. The service ends every
 * stream after an hour, and a quiet stream must not fail by that.
 */
const WORKED_MS = 120_000

interface Resume {
  readonly maxFruitless?: number | undefined
  /** Whether a refusal is the end of the stream. Default: nothing is there any more. */
  readonly isEnd?: (error: unknown) => boolean
}

/**
 * Yields the events of one connection after the other, with {@link Opened} when the service has accepted a request, and
 * `closed` after its end. An agent that restarts and a sandbox that hibernates end streams, too.
 * @param next the request for what follows the events that were yielded
 * @throws ConnectionError if several connections in a row do not work; ApiError if the service refuses
 */
export async function* resumed(
  transport: Transport,
  next: () => Request,
  { maxFruitless, isEnd = (error) => error instanceof NotFoundError }: Resume = {},
): AsyncGenerator<Opened | 'closed' | ServerEvent, void, undefined> {
  const reconnects = new Reconnects(maxFruitless)
  for (let hasBegun = false; ;) {
    const request = next()
    let cause: unknown = null
    try {
      for await (const frame of streamFrames(transport, request)) {
        hasBegun = true
        if (frame instanceof Opened) reconnects.opened()
        else if (frame.event !== 'error') reconnects.worked()
        yield frame
      }
    } catch (error) {
      if (hasBegun && isEnd(error)) return
      if (!(error instanceof ConnectionError || (error instanceof ServerError && hasBegun))) throw error
      cause = error
    }
    yield 'closed'
    await reconnects.wait(request.path, cause, request.signal)
  }
}

class Reconnects {
  readonly #maxFruitless: number
  #fruitless = 0
  #openedAtMs: number | null = null

  /** @param maxFruitless connections in a row that do not work before it gives up. 8 take about half a minute. */
  constructor(maxFruitless = MAX_FRUITLESS) {
    this.#maxFruitless = maxFruitless
  }

  /** The service has accepted the request. */
  opened(): void {
    this.#openedAtMs = performance.now()
  }

  /** The connection has brought something. */
  worked(): void {
    this.#fruitless = 0
  }

  /**
   * Waits after the end of a connection, longer after each that did not work.
   * @throws ConnectionError after too many of them, with the cause of the last end
   */
  async wait(what: string, cause: unknown, signal?: AbortSignal): Promise<void> {
    const openMs = this.#openedAtMs === null ? 0 : performance.now() - this.#openedAtMs
    this.#openedAtMs = null
    if (openMs >= WORKED_MS) this.#fruitless = 0
    if (this.#fruitless >= this.#maxFruitless) {
      throw new ConnectionError(`${what}: the stream ends again and again`, { cause })
    }
    await delay(retryDelayMs(this.#fruitless++, null) ?? 0, signal)
  }
}
