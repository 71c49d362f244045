/** A wait on a {@link Deadline} took too long. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

/**
 * A time limit for an operation, passed to each of its steps.
 *
 * One deadline per operation bounds the sum of all waits, not each wait alone. It uses the monotonic clock, so a change
 * of the wall clock does not move it.
 */
export class Deadline {
  readonly #endsAtMs: number
  readonly #what: string
  readonly #cancelled: AbortSignal | undefined
  #signal: AbortSignal | undefined

  private constructor(endsAtMs: number, what: string, cancelled: AbortSignal | undefined) {
    this.#endsAtMs = endsAtMs
    this.#what = what
    this.#cancelled = cancelled
  }

  /**
   * @param ms milliseconds from now
   * @param what the operation, for the error text: "restore of 1a2b"
   * @param cancelled ends every wait early with the signal's own reason
   */
  static after(ms: number, what: string, cancelled?: AbortSignal): Deadline {
    return new Deadline(performance.now() + ms, what, cancelled)
  }

  /** Milliseconds left, never below 0. */
  get remainingMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now())
  }

  /** Aborts with a {@link DeadlineExceeded} at the deadline, or with the reason of `cancelled`. */
  get signal(): AbortSignal {
    this.#signal ??= this.#makeSignal()
    return this.#signal
  }

  throwIfOver(): void {
    this.#cancelled?.throwIfAborted()
    if (this.remainingMs === 0) throw this.#exceeded()
  }

  /** A deadline for one step, never later than this one. */
  within(ms: number, what: string): Deadline {
    return new Deadline(Math.min(this.#endsAtMs, performance.now() + ms), what, this.#cancelled)
  }

  /**
   * Settles like `promise`, or rejects at the deadline. It does not stop the losing work; pass {@link signal} for that.
   */
  async race<T>(promise: Promise<T>): Promise<T> {
    // If the deadline has already passed, nothing else handles a rejection of this promise.
    promise.catch(() => undefined)
    this.throwIfOver()
    const { promise: over, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(this.#exceeded()), this.#timerMs)
    const onCancel = () => reject(this.#cancelled?.reason)
    this.#cancelled?.addEventListener('abort', onCancel, { once: true })
    try {
      return await Promise.race([promise, over])
    } finally {
      clearTimeout(timer)
      this.#cancelled?.removeEventListener('abort', onCancel)
    }
  }

  /** A timer uses whole milliseconds and may fire one early; the extra one ensures that the deadline has passed. */
  get #timerMs(): number {
    return Math.ceil(this.remainingMs) + 1
  }

  #exceeded(): DeadlineExceeded {
    return new DeadlineExceeded(`deadline passed: ${this.#what}`)
  }

  #makeSignal(): AbortSignal {
    const controller = new AbortController()
    setTimeout(() => controller.abort(this.#exceeded()), this.#timerMs).unref()
    return this.#cancelled ? AbortSignal.any([controller.signal, this.#cancelled]) : controller.signal
  }
}
