import type { Socket } from 'node:net'

/** Written and not yet taken by the guest; over this it hangs. All windows that a guest has together are less. */
const UNSENT_MAX_BYTES = 128 * 1024 * 1024

/** Frames of one turn of the event loop leave in one write. */
export class FrameWriter {
  readonly #socket: Socket
  #isCorked = false
  #kept: Uint8Array[] | undefined
  #keptBytes = 0

  constructor(socket: Socket) {
    this.#socket = socket
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
    if (this.#kept !== undefined && !isUrgent) {
      this.#kept.push(frame)
      this.#keptBytes += frame.length
      return this.#keptBytes <= UNSENT_MAX_BYTES
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
    return socket.writableLength <= UNSENT_MAX_BYTES
  }
}
