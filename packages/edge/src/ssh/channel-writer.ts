import type { ServerChannel } from 'ssh2'
import type { ClientSocket } from './client-socket.ts'

/** Bytes that wait for a client's TCP connection, above which nothing more is written. */
const MAX_WAITING_BYTES = 1024 * 1024

/** The fields in which the library keeps what waits for the client's window. */
interface Waiting {
  _chunk?: unknown
  _chunkcb?: unknown
  _chunkErr?: unknown
  _chunkcbErr?: unknown
}

/**
 * Writes to one channel, one piece at a time. The library keeps a piece that has waited for the client's window, and
 * would send it again when a piece of the other output waits. So every piece ends before the next one, and the library
 * forgets it.
 */
export class ChannelWriter {
  readonly #channel: ServerChannel
  readonly #client: ClientSocket
  readonly #closed = Promise.withResolvers<void>()
  #isClosed = false

  constructor(channel: ServerChannel, client: ClientSocket) {
    this.#channel = channel
    this.#client = client
    const close = () => {
      forget()
      this.#isClosed = true
      this.#closed.resolve()
    }
    const forget = client.onClose(close)
    channel.once('close', close)
    channel.on('error', close)
    channel.stderr.on('error', close)
  }

  /** Resolves when the client's window has taken all bytes. @returns false if the channel is closed */
  async write(bytes: Buffer, output: 'stdout' | 'stderr' = 'stdout'): Promise<boolean> {
    if (this.#isClosed || bytes.length === 0) return !this.#isClosed
    const stream = output === 'stdout' ? this.#channel : this.#channel.stderr
    const written = new Promise<void>((resolve) => stream.write(bytes, () => resolve()))
    await Promise.race([written, this.#closed.promise])
    const waiting = this.#channel as unknown as Waiting
    waiting._chunk = waiting._chunkcb = waiting._chunkErr = waiting._chunkcbErr = undefined
    if (this.#client.socket.writableLength > MAX_WAITING_BYTES) await this.#drained()
    return !this.#isClosed
  }

  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#client.socket.once('drain', resolve)
    await Promise.race([promise, this.#closed.promise])
    this.#client.socket.off('drain', resolve)
  }
}
