/** A condition variable: {@link notify} wakes all waiters. An aborted wait leaves no listener behind. */
export class ChangeSignal {
  readonly #waiting = new Set<() => void>()

  /** Resolves at the next {@link notify}, or when the signal aborts. */
  wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => {
      this.#waiting.delete(wake)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    this.#waiting.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    return promise
  }

  notify(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
  }

  get waiting(): number {
    return this.#waiting.size
  }
}
