import { MoveDamaged } from './move-damaged.ts'

/** Reads exact numbers of bytes from a stream of chunks. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** @throws MoveDamaged if the stream ends before; the error of the stream */
  async read(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let missing = bytes
    while (missing > 0) {
      if (this.#rest.length === 0 && !(await this.#next())) throw new MoveDamaged('the stream ends too early')
      const part = this.#rest.subarray(0, missing)
      this.#rest = this.#rest.subarray(part.length)
      missing -= part.length
      parts.push(part)
    }
    const [only] = parts
    return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)
  }

  /** @throws MoveDamaged if more follows */
  async end(): Promise<void> {
    if (this.#rest.length > 0 || (await this.#next())) throw new MoveDamaged('the stream has bytes after its end')
  }

  async #next(): Promise<boolean> {
    for (;;) {
      const { value, done } = await this.#chunks.next()
      if (done === true) return false
      this.#rest = value
      if (this.#rest.length > 0) return true
    }
  }
}
