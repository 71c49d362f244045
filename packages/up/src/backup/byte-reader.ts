/** Reads a stream of chunks in pieces of chosen sizes. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>
  #held = Buffer.alloc(0)
  #hasEnded = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** @returns fewer than `bytes` only at the end of the stream */
  async read(bytes: number): Promise<Buffer> {
    await this.#fill(bytes)
    const taken = this.#held.subarray(0, bytes)
    this.#held = this.#held.subarray(taken.length)
    return taken
  }

  /** @returns the line without its line feed; `null` if the stream has none within `maxBytes` */
  async readLine(maxBytes: number): Promise<string | null> {
    await this.#fill(maxBytes)
    const end = this.#held.subarray(0, maxBytes).indexOf('\n')
    if (end < 0) return null
    return (await this.read(end + 1)).toString('latin1', 0, end)
  }

  async isAtEnd(): Promise<boolean> {
    await this.#fill(1)
    return this.#held.length === 0
  }

  /** Ends the stream early. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }

  async #fill(bytes: number): Promise<void> {
    const chunks: Uint8Array[] = [this.#held]
    let length = this.#held.length
    while (length < bytes && !this.#hasEnded) {
      const { value, done } = await this.#source.next()
      if (done) this.#hasEnded = true
      else length += chunks[chunks.push(value) - 1]?.length ?? 0
    }
    if (chunks.length > 1) this.#held = Buffer.concat(chunks)
  }
}
