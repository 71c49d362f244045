/**
 * Whether anything is under way in a sandbox, and for how long nothing has been.
 *
 * Measured on the monotonic clock, so that a step of the wall clock hibernates nobody.
 */
export class Activity {
  #underWay = 0
  #lastAt: number

  /** @param idleMs for how long nothing had been under way when this begins */
  constructor(idleMs = 0) {
    this.#lastAt = performance.now() - idleMs
  }

  /** Something begins; the result ends it, once. */
  begin(): () => void {
    this.#underWay++
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      this.#underWay--
      this.touch()
    }
  }

  /** Something happened. */
  touch(): void {
    this.#lastAt = performance.now()
  }

  /** 0 while something is under way. */
  get idleMs(): number {
    return this.#underWay > 0 ? 0 : performance.now() - this.#lastAt
  }
}
