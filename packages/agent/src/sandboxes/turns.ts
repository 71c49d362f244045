/** Too many already wait for a turn. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
}

/** Lets at most so many tasks run at once; the others wait their turn in order of arrival, up to a bound. */
export class Turns {
  readonly #atOnce: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(atOnce: number, maxWaiting: number) {
    this.#atOnce = atOnce
    this.#maxWaiting = maxWaiting
  }

  get isBusy(): boolean {
    return this.#running > 0
  }

  /** @throws TooManyWaiting at once, without running the task */
  async run<T>(task: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await task()
    } finally {
      this.#leave()
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < this.#atOnce) {
      this.#running++
      return
    }
    if (this.#waiting.length >= this.#maxWaiting) throw new TooManyWaiting(`${this.#maxWaiting} already wait`)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    await promise
  }

  #leave(): void {
    const next = this.#waiting.shift()
    // The place passes on without being free in between: nobody overtakes.
    if (next) next()
    else this.#running--
  }
}
