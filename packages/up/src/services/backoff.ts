const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000
/** Maximum delay for a process that was ready before: it can start, so it will serve soon again. */
const LONGEST_DELAY_AFTER_READY_MS = 1000
/** After running this long, a process counts as healthy, and the count restarts. */
const STEADY_AFTER_MS = 20_000
/** Maximum failed starts of a service that was never ready. */
const FAILED_STARTS_MAX = 10

/** One unexpected end of a process. */
export interface Death {
  readonly ranMs: number
  /** Whether the process was ever ready. */
  readonly wasReady: boolean
}

/**
 * Exponential backoff between restarts, up to a maximum. A service that was never ready is abandoned after {@link
 * FAILED_STARTS_MAX} starts. One that was ready is always restarted, because the cause may be temporary, such as a full
 * disk.
 */
export class Backoff {
  #quickDeaths = 0
  #failedStarts = 0
  #hasServed = false

  /** @returns milliseconds to wait; `null`: do not restart */
  afterDeath({ ranMs, wasReady }: Death): number | null {
    this.#quickDeaths = ranMs >= STEADY_AFTER_MS ? 1 : this.#quickDeaths + 1
    this.#hasServed ||= wasReady
    this.#failedStarts += 1
    if (!this.#hasServed && this.#failedStarts > FAILED_STARTS_MAX) return null
    const longestMs = wasReady ? LONGEST_DELAY_AFTER_READY_MS : LONGEST_DELAY_MS
    return Math.min(longestMs, FIRST_DELAY_MS * 2 ** (this.#quickDeaths - 1))
  }
}
