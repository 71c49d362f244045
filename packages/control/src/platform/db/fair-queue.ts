import { FairLimit } from '@offshoot/kit/fair-limit'
import { ApiError } from '@offshoot/contract/errors'

type Release = () => void

interface Waiting {
  readonly begin: (release: Release) => void
  readonly timer: NodeJS.Timeout
}

/**
 * A {@link FairLimit} whose tasks wait for their turn instead of being refused. The tasks of one tenant run in the order
 * of their arrival. A released permit goes to the tenants in turn, so a long queue of one does not delay another.
 */
export class FairQueue {
  readonly #limit: FairLimit
  readonly #patienceMs: number
  readonly #queues = new Map<string, Waiting[]>()

  /** @param patienceMs for how long a task waits before it is refused */
  constructor(limit: FairLimit, patienceMs: number) {
    this.#limit = limit
    this.#patienceMs = patienceMs
  }

  /** Tasks that wait for their turn. */
  get length(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0)
  }

  /** @returns a function that releases the permit (once). @throws ApiError 429 if the tenant's turn does not come in time */
  async wait(tenant: string): Promise<Release> {
    const queue = this.#queues.get(tenant)
    const permit = queue === undefined ? this.#take(tenant) : null
    return permit ?? this.#queue(tenant)
  }

  #take(tenant: string): Release | null {
    const release = this.#limit.take(tenant)
    return (
      release &&
      (() => {
        release()
        this.#serve()
      })
    )
  }

  #queue(tenant: string): Promise<Release> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(tenant, waiting)
        reject(new ApiError('tooManyRequests'))
      }, this.#patienceMs)
      const waiting = { begin: resolve, timer }
      const queue = this.#queues.get(tenant)
      if (queue === undefined) this.#queues.set(tenant, [waiting])
      else queue.push(waiting)
    })
  }

  /** Gives free permits to the tenants in turn. A tenant that was served goes to the end. */
  #serve(): void {
    const tenants = [...this.#queues.keys()]
    for (const tenant of tenants) {
      const queue = this.#queues.get(tenant)
      const [next] = queue ?? []
      const permit = next && this.#take(tenant)
      if (queue === undefined || next === undefined || !permit) continue
      this.#leave(tenant, next)
      if (this.#queues.delete(tenant)) this.#queues.set(tenant, queue)
      clearTimeout(next.timer)
      // Otherwise a queue of tasks without I/O would run to its end before anything else does.
      setImmediate(next.begin, permit)
    }
  }

  #leave(tenant: string, waiting: Waiting): void {
    const queue = this.#queues.get(tenant) ?? []
    const place = queue.indexOf(waiting)
    if (place !== -1) queue.splice(place, 1)
    if (queue.length === 0) this.#queues.delete(tenant)
  }
}
