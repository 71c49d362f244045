const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000
/** A process that ran this long had started well: its end begins a new count. */
const STEADY_AFTER_MS = 20_000
const QUICK_DEATHS_MAX = 10

/** How long to wait before a process that keeps dying is started again: twice as long each time, until it is given up. */
export class Backoff {
  #quickDeaths = 0

  /**
   * @param ranMs how long the process ran before this death
   * @returns milliseconds to wait, or `null` to give up
   */
  afterDeath(ranMs: number): number | null {
    this.#quickDeaths = ranMs >= STEADY_AFTER_MS ? 1 : this.#quickDeaths + 1
    if (this.#quickDeaths > QUICK_DEATHS_MAX) return null
    return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#quickDeaths - 1))
  }
}
