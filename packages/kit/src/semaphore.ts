/** The queue of a {@link Semaphore} is full. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
}

/** Runs at most `atOnce` tasks at the same time. The others wait in order of arrival, at most `maxWaiting` of them. */
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

  /** Whether a task waits. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  /**
   * @param cancelled removes a waiting task from the queue, with the signal's reason. It does not stop a task that runs
   * @throws TooManyWaiting at once when the queue is full; the task has not run then
   */
  async run<T>(task: () => Promise<T>, cancelled?: AbortSignal): Promise<T> {
    cancelled?.throwIfAborted()
    if (this.#running < this.#atOnce) this.#running++
    else if (this.#waiting.length < this.#maxWaiting) await this.#wait('last', cancelled)
    else throw new TooManyWaiting(`${this.#maxWaiting} already wait`)
    return this.#finish(task)
  }

  /** Runs a task before all waiting ones. Ignores `maxWaiting`. */
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
      // Passes the permit on directly. If it were free in between, a new task could overtake the queue.
      if (next) next()
      else this.#running--
    }
  }
}
