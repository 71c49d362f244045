/** Maximum bytes of an incomplete UTF-8 character. */
const LONGEST_START = 3

/**
 * Decodes UTF-8 that arrives in chunks. Holds back an incomplete character until its rest arrives. Invalid bytes become
 * U+FFFD, exactly as if all bytes had been decoded at once.
 */
export class Utf8Chunks {
  #start: Buffer = Buffer.alloc(0)

  /** Bytes of the incomplete character that is held back. */
  get heldBytes(): number {
    return this.#start.length
  }

  push(chunk: Buffer): string {
    const bytes = this.#start.length === 0 ? chunk : Buffer.concat([this.#start, chunk])
    const end = bytes.length - cutBytes(bytes)
    // Copied, because a slice would keep the whole underlying buffer alive.
    this.#start = Buffer.from(bytes.subarray(end))
    return bytes.toString('utf8', 0, end)
  }

  /** Flushes the incomplete character at the end of the stream. */
  end(): string {
    const rest = this.#start.toString('utf8')
    this.#start = Buffer.alloc(0)
    return rest
  }
}

/** How many bytes at the end belong to an incomplete character. Cutting before a leading byte never changes the decoding. */
function cutBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(LONGEST_START, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0
  }
  return 0
}

function lengthOf(leading: number): number {
  if (leading >= 0xf0) return 4
  return leading >= 0xe0 ? 3 : 2
}
