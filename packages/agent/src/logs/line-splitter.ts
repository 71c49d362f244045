import { MAX_LOG_LINE_CHARS } from '@offshoot/contract/log'

/** Makes lines of one stream of bytes, however its chunks fall. Holds at most one line. */
export class LineSplitter {
  #decoder = new TextDecoder()
  #rest = ''

  /** Bytes of the line that has not ended yet, as far as they were UTF-8. */
  get restBytes(): number {
    return Buffer.byteLength(this.#rest)
  }

  push(chunk: Uint8Array): string[] {
    const parts = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#rest = parts.pop() ?? ''
    const lines = parts.flatMap((part) => cut(part.endsWith('\r') ? part.slice(0, -1) : part))
    if (this.#rest.length > MAX_LOG_LINE_CHARS) {
      const pieces = cut(this.#rest)
      this.#rest = pieces.pop() ?? ''
      lines.push(...pieces)
    }
    return lines
  }

  /** The line without an ending, when there is one. Another stream may follow. */
  end(): string[] {
    const last = this.#rest + this.#decoder.decode()
    this.#rest = ''
    this.#decoder = new TextDecoder()
    return last === '' ? [] : cut(last)
  }
}

/** Never between the halves of a surrogate pair. */
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
