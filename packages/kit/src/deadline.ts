/** Thrown by whatever waited on a {@link Deadline} that has passed. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

/**
 * The latest moment an operation may still be waiting, threaded through every step of it.
 *
 * Made once where an operation begins and passed down, so that the sum of all waits is bounded, not each alone.
 * Measured on the monotonic clock: a step of the wall clock does not move it.
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
   * @param what names the operation in the error: "restore of 1a2b"
   * @param cancelled ends every wait early, with that signal's own reason
   */
  static after(ms: number, what: string, cancelled?: AbortSignal): Deadline {
    return new Deadline(performance.now() + ms, what, cancelled)
  }

  /** Milliseconds left, never below 0. */
  get remainingMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now())
  }

  /** Aborts with a {@link DeadlineExceeded} when the time is up, or with the caller's reason when it was cancelled. */
  get signal(): AbortSignal {
    this.#signal ??= this.#makeSignal()
    return this.#signal
  }

  throwIfOver(): void {
    this.#cancelled?.throwIfAborted()
    if (this.remainingMs === 0) throw this.#exceeded()
  }

  /** A nearer deadline for one step; never later than this one. */
  within(ms: number, what: string): Deadline {
    return new Deadline(Math.min(this.#endsAtMs, performance.now() + ms), what, this.#cancelled)
  }

  /** Settles as `promise` does, or rejects when the time is up. The loser is not stopped: give it {@link signal} for that. */
  async race<T>(promise: Promise<T>): Promise<T> {
    // It has begun, and where the time is up already nobody else hears of its failure.
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

  /** A timer counts whole milliseconds of the event loop's clock and may fire one early; the deadline must be over then. */
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
