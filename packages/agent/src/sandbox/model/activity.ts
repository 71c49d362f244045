/**
 * Whether any operation runs in a sandbox, and if not, for how long it has been idle.
 *
 * Uses the monotonic clock, so that a step of the wall clock hibernates no sandbox.
 */
export class Activity {
  #operations = 0
  #lastAt: number

  /** @param idleMs initial idle time */
  constructor(idleMs = 0) {
    this.#lastAt = performance.now() - idleMs
  }

  /** An operation begins. @returns a function that ends it; idempotent */
  begin(): () => void {
    this.#operations++
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      this.#operations--
      this.touch()
    }
  }

  /** Resets the idle time. */
  touch(): void {
    this.#lastAt = performance.now()
  }

  /** 0 while an operation runs. */
  get idleMs(): number {
    return this.#operations > 0 ? 0 : performance.now() - this.#lastAt
  }
}
