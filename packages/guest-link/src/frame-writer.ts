import type { Socket } from 'node:net'

/** Written and not yet taken by the guest; over this it hangs. All windows that a guest has together are less. */
const UNSENT_MAX_BYTES = 128 * 1024 * 1024

/** Frames of one turn of the event loop leave in one write. */
export class FrameWriter implements UnsentQueue {
  readonly #socket: Socket
  readonly #onRefused: () => void
  readonly #total: typeof unsentTotal
  #isRefused = false
  #isCorked = false
  #kept: Uint8Array[] | undefined
  #keptBytes = 0

  /** @param onRefused the links of this process hold too much together, and this one the most: it must end */
  constructor(socket: Socket, onRefused: () => void, total = unsentTotal) {
    this.#socket = socket
    this.#onRefused = onRefused
    this.#total = total
  }

  get unsentBytes(): number {
    return this.#socket.writableLength + this.#keptBytes
  }

  refuse(): void {
    this.#isRefused = true
    this.#onRefused()
  }

  /** Ends the connection: nothing waits for its guest any more. */
  end(): void {
    this.#isRefused = true
    this.#socket.destroy()
    this.#total.forget(this)
  }

  /**
   * Lets nothing out but what is urgent. QEMU puts bytes into its guest's memory even while the guest is stopped: whoever
   * copies that memory would get a queue that its device state does not know.
   */
  keep(): void {
    this.#kept ??= []
  }

  /** What was kept leaves now. */
  letGo(): void {
    const kept = this.#kept ?? []
    this.#kept = undefined
    this.#keptBytes = 0
    for (const frame of kept) this.write(frame)
  }

  /** False when the guest takes nothing any more. */
  write(frame: Uint8Array, isUrgent = false): boolean {
    if (this.#isRefused) return false
    if (this.#kept !== undefined && !isUrgent) {
      this.#kept.push(frame)
      this.#keptBytes += frame.length
      return this.#isTaken()
    }
    const socket = this.#socket
    if (!this.#isCorked) {
      this.#isCorked = true
      socket.cork()
      process.nextTick(() => {
        this.#isCorked = false
        socket.uncork()
      })
    }
    socket.write(frame)
    return this.#isTaken()
  }

  #isTaken(): boolean {
    if (this.#isRefused || this.unsentBytes > UNSENT_MAX_BYTES) return false
    this.#total.note(this)
    return !this.#isRefused
  }
}

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
