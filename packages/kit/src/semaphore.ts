/** Too many already wait for a turn. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
}

/** Lets at most so many tasks run at once; the others wait their turn in order of arrival, up to a bound. */
export class Semaphore {
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

  /** Whether somebody waits for a turn. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  /**
   * @param cancelled ends the wait for a turn with its own reason; what to do about a task that runs is the task's matter
   * @throws TooManyWaiting at once, without running the task
   */
  async run<T>(task: () => Promise<T>, cancelled?: AbortSignal): Promise<T> {
    cancelled?.throwIfAborted()
    if (this.#running < this.#atOnce) this.#running++
    else if (this.#waiting.length < this.#maxWaiting) await this.#wait('last', cancelled)
    else throw new TooManyWaiting(`${this.#maxWaiting} already wait`)
    return this.#finish(task)
  }

  /** Before all who wait now, and never refused. */
  async runNext<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running++
    else await this.#wait('first')
    return this.#finish(task)
  }

  async #wait(place: 'first' | 'last', cancelled?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (place === 'first') this.#waiting.unshift(resolve)
    else this.#waiting.push(resolve)
    const leave = () => {
      const at = this.#waiting.indexOf(resolve)
      if (at < 0) return
      this.#waiting.splice(at, 1)
      reject(cancelled?.reason)
    }
    cancelled?.addEventListener('abort', leave, { once: true })
    await promise.finally(() => cancelled?.removeEventListener('abort', leave))
  }

  async #finish<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      // The place passes on without being free in between: nobody overtakes.
      if (next) next()
      else this.#running--
    }
  }
}
