const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000
/** Of a process that had come to be ready: it can start, so the next one soon serves again. */
const LONGEST_DELAY_AFTER_READY_MS = 1000
/** A process that ran this long had started well: its end begins a new count. */
const STEADY_AFTER_MS = 20_000
/** Of a service that has never come to be ready. */
const FAILED_STARTS_MAX = 10

/** One end of a process that nobody asked for. */
export interface Death {
  readonly ranMs: number
  /** It served at some time of its life. */
  readonly wasReady: boolean
}

/**
 * How long to wait before a process that keeps dying is started again: twice as long each time, up to a bound.
 * One that cannot start is given up. One that has served is not: what ended it, or keeps it from starting, may pass, as a full disk does.
 */
export class Backoff {
  #quickDeaths = 0
  #failedStarts = 0
  #hasServed = false

  /** @returns milliseconds to wait, or `null` to give up */
  afterDeath({ ranMs, wasReady }: Death): number | null {
    this.#quickDeaths = ranMs >= STEADY_AFTER_MS ? 1 : this.#quickDeaths + 1
    this.#hasServed ||= wasReady
    this.#failedStarts += 1
    if (!this.#hasServed && this.#failedStarts > FAILED_STARTS_MAX) return null
    const longestMs = wasReady ? LONGEST_DELAY_AFTER_READY_MS : LONGEST_DELAY_MS
    return Math.min(longestMs, FIRST_DELAY_MS * 2 ** (this.#quickDeaths - 1))
  }
}
