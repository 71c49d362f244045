/** SSH's encoding of values (RFC 4251, 5), and the failure of every reader of it. */

/** Bytes that are not what SSH's formats allow. */
export class SshFormatError extends Error {
  override readonly name = 'SshFormatError'
}

/** Reads values one after the other. Every method throws {@link SshFormatError} at the end of the bytes. */
export class SshReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** Bytes read so far. */
  get position(): number {
    return this.#at
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new SshFormatError('truncated')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  byte(): number {
    return this.take(1).readUInt8()
  }

  uint32(): number {
    return this.take(4).readUInt32BE()
  }

  uint64(): bigint {
    return this.take(8).readBigUInt64BE()
  }

  string(): Buffer {
    return this.take(this.uint32())
  }

  /** A string of valid UTF-8. */
  text(): string {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.string())
    } catch (error) {
      if (error instanceof SshFormatError) throw error
      throw new SshFormatError('not UTF-8', { cause: error })
    }
  }

  /** A positive number, without leading zeros. */
  mpint(): Buffer {
    const bytes = this.string()
    if (bytes.length === 0 || (bytes[0] ?? 0) >= 0x80) throw new SshFormatError('not a positive number')
    if (bytes[0] !== 0) return bytes
    if ((bytes[1] ?? 0) < 0x80) throw new SshFormatError('a number with leading zeros')
    return bytes.subarray(1)
  }

  /** @throws SshFormatError if bytes are left */
  end(): void {
    if (!this.isAtEnd) throw new SshFormatError('bytes after the end')
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

export function string(value: string | Uint8Array): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** @param bytes a positive number, big-endian */
export function mpint(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? new Uint8Array(0) : bytes.subarray(first)
  return string((digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), digits]) : digits)
}
