import { MAX_LOG_LINE_CHARS } from '@offshoot/contract/log'

const NEWLINE = 0x0a

/** Splits one byte stream into lines, however it is chunked. Buffers at most one line. */
export class LineSplitter {
  #decoder = new TextDecoder()
  #rest = ''
  #restBytes = 0

  /** Buffered bytes after the last complete line. If a long line was cut, counts its re-encoded text, not the original bytes. */
  get restBytes(): number {
    return this.#restBytes
  }

  push(chunk: Uint8Array): string[] {
    const newlineAt = chunk.lastIndexOf(NEWLINE)
    this.#restBytes = newlineAt < 0 ? this.#restBytes + chunk.length : chunk.length - newlineAt - 1
    const parts = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#rest = parts.pop() ?? ''
    const lines = parts.flatMap((part) => cut(part.endsWith('\r') ? part.slice(0, -1) : part))
    if (this.#rest.length > MAX_LOG_LINE_CHARS) {
      const pieces = cut(this.#rest)
      this.#rest = pieces.pop() ?? ''
      this.#restBytes = Buffer.byteLength(this.#rest)
      lines.push(...pieces)
    }
    return lines
  }

  /** Flushes the last line, which has no line ending. Afterwards another stream may follow. */
  end(): string[] {
    const last = this.#rest + this.#decoder.decode()
    this.#rest = ''
    this.#restBytes = 0
    this.#decoder = new TextDecoder()
    return last === '' ? [] : cut(last)
  }
}

/** Cuts a long line into pieces, never within a surrogate pair. */
function cut(line: string): string[] {
  if (line.length <= MAX_LOG_LINE_CHARS) return [line]
  const pieces: string[] = []
  for (let at = 0; at < line.length;) {
    let end = Math.min(line.length, at + MAX_LOG_LINE_CHARS)
    if (end < line.length && isHighSurrogate(line.charCodeAt(end - 1))) end -= 1
    pieces.push(line.slice(at, end))
    at = end
  }
  return pieces
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
