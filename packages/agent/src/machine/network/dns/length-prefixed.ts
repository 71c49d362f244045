const PREFIX_BYTES = 2

/** Finds messages in a stream, each after its length (RFC 1035, 4.2.2): at most 64 KiB are kept. */
export class LengthPrefixed {
  readonly #onMessage: (message: Buffer) => void
  #rest = Buffer.alloc(0)

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage
  }

  push(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    while (this.#rest.length >= PREFIX_BYTES) {
      const end = PREFIX_BYTES + this.#rest.readUInt16BE(0)
      if (this.#rest.length < end) return
      const message = this.#rest.subarray(PREFIX_BYTES, end)
      this.#rest = this.#rest.subarray(end)
      this.#onMessage(message)
    }
  }
}

export function frame(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt16BE(message.length)
  return Buffer.concat([prefix, message])
}
