/** Bytes that the longest character lacks at most when it is cut. */
const LONGEST_START = 3

/**
 * Makes text of bytes that arrive in pieces: a character that is cut waits for its rest. What is no UTF-8 becomes
 * U+FFFD, the same as if all bytes had been decoded at once.
 */
export class Utf8Chunks {
  #start: Buffer = Buffer.alloc(0)

  /** Bytes that wait for the rest of their character. */
  get heldBytes(): number {
    return this.#start.length
  }

  push(chunk: Buffer): string {
    const bytes = this.#start.length === 0 ? chunk : Buffer.concat([this.#start, chunk])
    const end = bytes.length - cutBytes(bytes)
    // A copy: the chunk may be a part of something large.
    this.#start = Buffer.from(bytes.subarray(end))
    return bytes.toString('utf8', 0, end)
  }

  /** Nothing more comes. */
  end(): string {
    const rest = this.#start.toString('utf8')
    this.#start = Buffer.alloc(0)
    return rest
  }
}

/** How many bytes at the end may be the start of a character. Cutting before a leading byte never changes the rest. */
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
