import type { Socket } from 'node:net'
import { unsentTotal, type UnsentQueue } from './unsent-total.ts'

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
