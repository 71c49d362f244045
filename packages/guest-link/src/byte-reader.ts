import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** Reads a given number of bytes from a stream whose chunks have any size. */
export class ByteReader {
  readonly #stream: Readable
  #held: Buffer = Buffer.alloc(0)

  constructor(stream: Readable) {
    this.#stream = stream
  }

  /** Reads exactly so many bytes. Returns undefined when the stream ends before. @throws the stream's error */
  async take(bytes: number): Promise<Buffer | undefined> {
    if (!(await this.#hold(bytes))) return undefined
    const taken = this.#held.subarray(0, bytes)
    this.#held = this.#held.subarray(bytes)
    return taken
  }

  /** Waits for more bytes and leaves them in the stream. False at its end. @throws the stream's error */
  async hasBytes(): Promise<boolean> {
    return this.#hold(1)
  }

  /** Gives the stream to another reader, with all bytes that were not taken. */
  release(): void {
    if (this.#held.length > 0) this.#stream.unshift(this.#held)
    this.#held = Buffer.alloc(0)
  }

  async #hold(bytes: number): Promise<boolean> {
    while (this.#held.length < bytes) {
      // Reads all buffered bytes: with bytes left, the stream would emit `readable` to every new listener again.
      const chunk = this.#stream.read() as Buffer | null
      if (chunk !== null) this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
      else if (!(await this.#hasMore())) return false
    }
    return true
  }

  async #hasMore(): Promise<boolean> {
    const stream = this.#stream
    if (stream.errored) throw stream.errored
    if (stream.readableEnded || stream.destroyed) return false
    const settled = new AbortController()
    const wait = { signal: settled.signal }
    try {
      // once() rejects when the stream emits an error.
      await Promise.race([once(stream, 'readable', wait), once(stream, 'end', wait), once(stream, 'close', wait)])
    } finally {
      settled.abort()
    }
    return true
  }
}
