import type { Socket } from 'node:net'

/**
 * A client's TCP connection with what must end when it closes. A connection may have thousands of channels in its life,
 * one after the other, so each takes its part away when it has ended.
 */
export class ClientSocket {
  readonly socket: Socket
  readonly #closers = new Set<() => void>()

  constructor(socket: Socket) {
    this.socket = socket
    socket.once('close', () => {
      for (const close of this.#closers) close()
    })
  }

  get isClosed(): boolean {
    return this.socket.destroyed
  }

  /** @returns a function that forgets `close` */
  onClose(close: () => void): () => void {
    this.#closers.add(close)
    return () => void this.#closers.delete(close)
  }
}
