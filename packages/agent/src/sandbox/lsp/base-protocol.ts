/**
 * The base protocol of language servers: `Content-Length: N`, perhaps more headers, an empty line, N bytes.
 * https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol
 *
 *     header ──empty line──► content ──N bytes──► header
 */
import { MAX_LSP_MESSAGE_BYTES } from '@offshoot/contract/lsp'

/** Bytes of all headers of one message. */
const MAX_HEADER_BYTES = 4096
const HEADERS_END = '\r\n\r\n'
/** Name, and value with the space around it: an expression that trims as well backtracks over each run of spaces. */
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\x20-\x7e\t]*)$/
/** What may still become one. */
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

/** Where a message ends in the bytes that were pushed, and how many of all its bytes are headers. */
export interface MessageEnd {
  readonly end: number
  readonly headerBytes: number
}

/** Finds the messages in a stream of bytes, however it is cut. Holds the headers of one message at most. */
export class BaseProtocol {
  #header = ''
  #headerBytes = 0
  /** Of the content, not yet seen; `null` in the headers. */
  #missingBytes: number | null = null

  /** @throws BaseProtocolError for what is no message; of no further use then */
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

/** Says early what would only be known at the end of the headers: whoever sends no header would wait for ever. */
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

/** One message of a stream: its headers, as they came, and its content. */
export interface SplitMessage {
  /** Headers and content. */
  readonly bytes: Buffer
  readonly content: Buffer
}

/** Makes whole messages of a stream in the base protocol, however its chunks fall. Holds one message at most. */
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
