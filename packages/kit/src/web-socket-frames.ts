const CLOSE_OPCODE = 8
const LENGTH_16 = 126
const LENGTH_64 = 127

/**
 * Tracks frame boundaries in the bytes of a WebSocket server (RFC 6455, 5.2; unmasked), and whether it sent a close
 * frame. It skips payloads and changes nothing.
 */
export class WebSocketFrames {
  /** A close frame has begun; no frame may follow it. */
  hasClosed = false
  #header: number[] = []
  #skipBytes = 0

  /** Whether the bytes so far end at a frame boundary. */
  get isWhole(): boolean {
    return this.#header.length === 0 && this.#skipBytes === 0
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#skipBytes > 0) {
        const skipped = Math.min(this.#skipBytes, chunk.length - at)
        this.#skipBytes -= skipped
        at += skipped
      } else {
        this.#header.push(chunk.readUInt8(at))
        at += 1
        this.#endHeader()
      }
    }
  }

  #endHeader(): void {
    const [first = 0, second, ...length] = this.#header
    if (second === undefined) return
    const short = second & 0x7f
    const lengthBytes = short === LENGTH_16 ? 2 : short === LENGTH_64 ? 8 : 0
    if (length.length < lengthBytes) return
    if ((first & 0x0f) === CLOSE_OPCODE) this.hasClosed = true
    this.#skipBytes = lengthBytes === 0 ? short : length.reduce((sum, byte) => sum * 256 + byte, 0)
    this.#header = []
  }
}

/** Encodes a server's close frame. `code` from RFC 6455, 7.4; `reason` at most 123 bytes. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason)
  const frame = Buffer.alloc(4 + text.length)
  frame.writeUInt8(0x80 + CLOSE_OPCODE, 0)
  frame.writeUInt8(2 + text.length, 1)
  frame.writeUInt16BE(code, 2)
  text.copy(frame, 4)
  return frame
}
