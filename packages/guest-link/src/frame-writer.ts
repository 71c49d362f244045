import type { Socket } from 'node:net'

/** Unsent bytes of one link. A guest with more does not read: its windows together are smaller. */
const UNSENT_MAX_BYTES = 128 * 1024 * 1024

/** Writes frames to a guest. All frames of one turn of the event loop leave with one system call. */
export class FrameWriter implements UnsentQueue {
  readonly #socket: Socket
  readonly #onOverflow: () => void
  readonly #limit: typeof unsentLimit
  #isEnded = false
  #isCorked = false
  #queued: Uint8Array[] | undefined
  #queuedBytes = 0

  /**
   * @param onOverflow is called when all links of this process exceed their limit and this one has the most: it must
   *   end
   */
  constructor(socket: Socket, onOverflow: () => void, limit = unsentLimit) {
    this.#socket = socket
    this.#onOverflow = onOverflow
    this.#limit = limit
  }

  get unsentBytes(): number {
    return this.#socket.writableLength + this.#queuedBytes
  }

  overflow(): void {
    this.#isEnded = true
    this.#onOverflow()
  }

  /** Closes the socket and drops unsent frames. */
  end(): void {
    this.#isEnded = true
    this.#socket.destroy()
    this.#limit.remove(this)
  }

  /**
   * Queues every frame that is not urgent. QEMU writes received bytes into the memory of its guest even while the guest
   * is stopped. A copy of that memory would then contain a virtio queue that does not match the saved device state.
   */
  queueFrames(): void {
    this.#queued ??= []
  }

  /** Sends the queued frames. */
  sendQueuedFrames(): void {
    const queued = this.#queued ?? []
    this.#queued = undefined
    this.#queuedBytes = 0
    for (const frame of queued) this.write(frame)
  }

  /** Returns false when the guest does not read: the caller must end the link. */
  write(frame: Uint8Array, isUrgent = false): boolean {
    if (this.#isEnded) return false
    if (this.#queued !== undefined && !isUrgent) {
      this.#queued.push(frame)
      this.#queuedBytes += frame.length
      return this.#isWithinLimits()
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
    return this.#isWithinLimits()
  }

  #isWithinLimits(): boolean {
    if (this.#isEnded || this.unsentBytes > UNSENT_MAX_BYTES) return false
    this.#limit.update(this)
    return !this.#isEnded
  }
}

/** Unsent bytes of all links of this process. */
const MAX_BYTES = 512 * 1024 * 1024

/** The part of a link that the limit uses. */
export interface UnsentQueue {
  /** Bytes that were written and not yet sent to the guest. */
  readonly unsentBytes: number
  /** Ends the link, because it has the most unsent bytes. */
  overflow(): void
}

/**
 * A memory limit for the unsent bytes of all links together. When a write exceeds it, the link with the most unsent
 * bytes is ended, whichever link wrote. So guests that do not read cannot end the links of guests that do.
 */
export class UnsentLimit {
  readonly #maxBytes: number
  /** Size of each queue at its last write. It may have shrunk since, but not grown. */
  readonly #sizes = new Map<UnsentQueue, number>()
  #bytes = 0

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Call it after each write to the queue. */
  update(queue: UnsentQueue): void {
    this.#set(queue, queue.unsentBytes)
    if (this.#bytes <= this.#maxBytes) return
    // Reads all sizes only now, so that the cost of a write does not grow with the number of links.
    for (const each of this.#sizes.keys()) this.#set(each, each.unsentBytes)
    while (this.#bytes > this.#maxBytes) {
      const [largest] = [...this.#sizes].reduce((most, each) => (each[1] > most[1] ? each : most))
      this.remove(largest)
      largest.overflow()
    }
  }

  /** Call it when the link has ended. */
  remove(queue: UnsentQueue): void {
    this.#set(queue, 0)
    this.#sizes.delete(queue)
  }

  #set(queue: UnsentQueue, bytes: number): void {
    this.#bytes += bytes - (this.#sizes.get(queue) ?? 0)
    this.#sizes.set(queue, bytes)
  }
}

/** The limit of this process. */
export const unsentLimit = new UnsentLimit()
