import type { Socket } from 'node:net'

/** Written and not yet taken by the guest; over this it hangs. All windows together are less. */
const UNSENT_MAX_BYTES = 64 * 1024 * 1024

/** Frames of one turn of the event loop leave in one write. */
export class FrameWriter {
  readonly #socket: Socket
  #isCorked = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** False when the guest takes nothing any more. */
  write(frame: Uint8Array): boolean {
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
