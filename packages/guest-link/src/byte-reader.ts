import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** Takes bytes by number out of a stream whose pieces are of any size. */
export class ByteReader {
  readonly #stream: Readable
  #held: Buffer = Buffer.alloc(0)

  constructor(stream: Readable) {
    this.#stream = stream
  }

  /** Exactly so many, or undefined when the stream ends before. @throws the stream's error */
  async take(bytes: number): Promise<Buffer | undefined> {
    if (!(await this.#hold(bytes))) return undefined
    const taken = this.#held.subarray(0, bytes)
    this.#held = this.#held.subarray(bytes)
    return taken
  }

  /** Waits for the next bytes, which stay; false when there are none. @throws the stream's error */
  async hasBytes(): Promise<boolean> {
    return this.#hold(1)
  }

  /** Leaves the stream to another reader, which sees all that was not taken. */
  release(): void {
    if (this.#held.length > 0) this.#stream.unshift(this.#held)
    this.#held = Buffer.alloc(0)
  }

  async #hold(bytes: number): Promise<boolean> {
    while (this.#held.length < bytes) {
      // All there is: with bytes left in it, a stream says `readable` to every new listener, for ever.
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
      // An error rejects any of them.
      await Promise.race([once(stream, 'readable', wait), once(stream, 'end', wait), once(stream, 'close', wait)])
    } finally {
      settled.abort()
    }
    return true
  }
}
