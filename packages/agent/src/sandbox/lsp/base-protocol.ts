/**
 * The base protocol of language servers: `Content-Length: N`, optional further headers, an empty line, N bytes.
 * https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol
 *
 *     header ──empty line──► content ──N bytes──► header
 */
import { MAX_LSP_MESSAGE_BYTES } from '@offshoot/contract/lsp'

/** Maximum bytes of the headers of one message. */
const MAX_HEADER_BYTES = 4096
const HEADERS_END = '\r\n\r\n'
/** Name, and untrimmed value: an expression that also trims would backtrack over each run of spaces. */
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\x20-\x7e\t]*)$/
/** A prefix of a valid header line. */
const HEADER_START = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+(?::[\x20-\x7e\t]*)?)?\r?$/
const LENGTH = /^0*[1-9]\d{0,14}$/

export class BaseProtocolError extends Error {
  override readonly name = 'BaseProtocolError'
  readonly isTooLarge: boolean

  constructor(message: string, isTooLarge = false) {
    super(message)
    this.isTooLarge = isTooLarge
  }
}

/** The end of a message within the pushed chunk, and how many bytes of the whole message are headers. */
export interface MessageEnd {
  readonly end: number
  readonly headerBytes: number
}

/** Finds message boundaries in a byte stream, however it is chunked. Buffers at most the headers of one message. */
export class BaseProtocol {
  #header = ''
  #headerBytes = 0
  /** Bytes of the content still to come; `null` while reading headers. */
  #missingBytes: number | null = null

  /** @throws BaseProtocolError for invalid input; do not use the object afterwards */
  push(bytes: Buffer): MessageEnd[] {
    const ends: MessageEnd[] = []
    let at = 0
    while (at < bytes.length) {
      at = this.#missingBytes === null ? this.#takeHeader(bytes, at) : this.#takeContent(this.#missingBytes, bytes, at)
      if (this.#missingBytes !== 0) continue
      ends.push({ end: at, headerBytes: this.#headerBytes })
      this.#missingBytes = null
    }
    return ends
  }

  #takeContent(missing: number, bytes: Buffer, at: number): number {
    const taken = Math.min(missing, bytes.length - at)
    this.#missingBytes = missing - taken
    return at + taken
  }

  #takeHeader(bytes: Buffer, at: number): number {
    const before = this.#header.length
    this.#header += bytes.toString('latin1', at, at + MAX_HEADER_BYTES - before)
    const end = this.#header.indexOf(HEADERS_END, Math.max(0, before - HEADERS_END.length))
    if (end < 0) {
      checkStart(this.#header)
      return at + this.#header.length - before
    }
    this.#headerBytes = end + HEADERS_END.length
    this.#missingBytes = contentLength(this.#header.slice(0, end))
    this.#header = ''
    return at + this.#headerBytes - before
  }
}

/** Rejects an invalid header before its end has arrived: a client that sends none would otherwise wait forever. */
function checkStart(header: string): void {
  if (header.length >= MAX_HEADER_BYTES) throw new BaseProtocolError(`headers over ${MAX_HEADER_BYTES} bytes`)
  const lines = header.split('\r\n')
  const last = lines.pop() ?? ''
  const wrong = lines.find((line) => !HEADER.test(line)) ?? (HEADER_START.test(last) ? undefined : last)
  if (wrong !== undefined) throw noHeader(wrong)
}

function contentLength(headers: string): number {
  let length: number | undefined
  for (const line of headers.split('\r\n')) {
    const [, name, value = ''] = HEADER.exec(line) ?? []
    if (name === undefined) throw noHeader(line)
    if (name.toLowerCase() !== 'content-length') continue
    if (length !== undefined || !LENGTH.test(value.trim())) throw new BaseProtocolError('bad Content-Length')
    length = Number(value)
  }
  if (length === undefined) throw new BaseProtocolError('no Content-Length')
  if (length > MAX_LSP_MESSAGE_BYTES) {
    throw new BaseProtocolError(`message over ${MAX_LSP_MESSAGE_BYTES} bytes`, true)
  }
  return length
}

function noHeader(line: string): BaseProtocolError {
  return new BaseProtocolError(`not a header: ${JSON.stringify(line.slice(0, 40))}`)
}

/** One message of a stream. */
export interface SplitMessage {
  /** Headers, unchanged, and content. */
  readonly bytes: Buffer
  readonly content: Buffer
}

/** Splits a stream in the base protocol into whole messages, however it is chunked. Buffers at most one message. */
export class MessageSplitter {
  readonly #protocol = new BaseProtocol()
  #parts: Buffer[] = []

  /** @throws BaseProtocolError */
  push(chunk: Buffer): SplitMessage[] {
    let start = 0
    const messages = this.#protocol.push(chunk).map(({ end, headerBytes }) => {
      const bytes = Buffer.concat([...this.#parts, chunk.subarray(start, end)])
      this.#parts = []
      start = end
      return { bytes, content: bytes.subarray(headerBytes) }
    })
    if (start < chunk.length) this.#parts.push(chunk.subarray(start))
    return messages
  }
}
