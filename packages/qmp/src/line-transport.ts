import type { Duplex } from 'node:stream'
import { QmpConnectionError } from './qmp-error.ts'

/** The longest answer to a command of `commands.ts` has a few KiB. (`query-qmp-schema` would have 200 KiB.) */
export const MAX_LINE_BYTES = 1024 * 1024

const NEWLINE = 0x0a

/**
 * Splits a byte stream into lines. Chunks may end anywhere.
 * Ends once, with the reason: QEMU closed, the stream failed, or a line exceeded {@link MAX_LINE_BYTES}.
 */
export class LineTransport {
  readonly #stream: Duplex
  readonly #ended = Promise.withResolvers<QmpConnectionError>()
  #chunks: Buffer[] = []
  #pendingBytes = 0

  /** Never rejects. */
  readonly ended: Promise<QmpConnectionError> = this.#ended.promise

  constructor(stream: Duplex, onLine: (line: string) => void) {
    this.#stream = stream
    stream.on('data', (chunk: Buffer) => {
      try {
        this.#take(chunk, onLine)
      } catch (error) {
        this.end(error instanceof QmpConnectionError ? error : new QmpConnectionError(String(error), { cause: error }))
      }
    })
    stream.on('error', (error) => this.end(new QmpConnectionError(`QMP connection failed: ${error.message}`)))
    stream.on('close', () => this.end(new QmpConnectionError('QMP connection closed')))
    stream.on('end', () => this.end(new QmpConnectionError('QMP connection closed')))
  }

  write(line: string): void {
    if (this.#stream.writable) this.#stream.write(`${line}\r\n`)
  }

  end(reason: QmpConnectionError): void {
    this.#ended.resolve(reason)
    this.#stream.destroy()
  }

  #take(chunk: Buffer, onLine: (line: string) => void): void {
    let rest = chunk
    for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE)) {
      const line = Buffer.concat([...this.#chunks, rest.subarray(0, at)]).toString('utf8')
      this.#chunks = []
      this.#pendingBytes = 0
      rest = rest.subarray(at + 1)
      if (line.trim() !== '') onLine(line)
    }
    this.#pendingBytes += rest.length
    if (this.#pendingBytes > MAX_LINE_BYTES) {
      throw new QmpConnectionError(`QMP line longer than ${MAX_LINE_BYTES} bytes`)
    }
    if (rest.length > 0) this.#chunks.push(rest)
  }
}
