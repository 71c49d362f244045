/** Bytes that wait for all guests of this process together. */
const MAX_BYTES = 512 * 1024 * 1024

/** One link, as far as this file is concerned. */
export interface UnsentQueue {
  /** Bytes that were written and that the guest has not taken. */
  readonly unsentBytes: number
  /** Ends the link: its guest holds more than its share. */
  refuse(): void
}

/**
 * A memory limit over the queues of all links. Whoever's write passes it, the link that holds the most is ended: guests that
 * take nothing cannot end the links of those that do.
 */
export class UnsentTotal {
  readonly #maxBytes: number
  /** What each queue held at its last write. It may have become shorter since, never longer. */
  readonly #noted = new Map<UnsentQueue, number>()
  #bytes = 0

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** After each write to the queue. */
  note(queue: UnsentQueue): void {
    this.#set(queue, queue.unsentBytes)
    if (this.#bytes <= this.#maxBytes) return
    // Only now all of them are looked at: a write must not cost more the more links there are.
    for (const each of this.#noted.keys()) this.#set(each, each.unsentBytes)
    while (this.#bytes > this.#maxBytes) {
      const [largest] = [...this.#noted].reduce((most, each) => (each[1] > most[1] ? each : most))
      this.forget(largest)
      largest.refuse()
    }
  }

  /** The link has ended. */
  forget(queue: UnsentQueue): void {
    this.#set(queue, 0)
    this.#noted.delete(queue)
  }

  #set(queue: UnsentQueue, bytes: number): void {
    this.#bytes += bytes - (this.#noted.get(queue) ?? 0)
    this.#noted.set(queue, bytes)
  }
}

/** Of this process. */
export const unsentTotal = new UnsentTotal()
