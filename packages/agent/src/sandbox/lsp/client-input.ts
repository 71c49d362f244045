/**
 * What the client of a session sends, as the server reads it. Its first byte decides how both talk from then on:
 * base protocol, passed on as it comes, or one JSON message a frame, which gets its header here.
 */
import { MAX_LSP_MESSAGE_BYTES } from '@offshoot/contract/lsp'
import { BaseProtocol, BaseProtocolError } from './base-protocol.ts'

export interface LspFraming {
  readonly kind: 'base' | 'json'
  /** Of the first frame, and so of every answer. */
  readonly isBinary: boolean
}

/** An object or a batch, perhaps after white space; no header begins like that. */
const JSON_START = /^[\s[{]/

export class ClientInput {
  readonly #protocol = new BaseProtocol()
  #framing: LspFraming | undefined

  /** `undefined` until something has come. */
  get framing(): LspFraming | undefined {
    return this.#framing
  }

  /** @returns the bytes for the server. @throws BaseProtocolError; the session is then over */
  take(frame: Buffer, isBinary: boolean): Buffer {
    if (frame.length === 0) return frame
    const isJson = JSON_START.test(frame.toString('latin1', 0, 1))
    this.#framing ??= { kind: isJson ? 'json' : 'base', isBinary }
    if (this.#framing.kind === 'base') {
      this.#protocol.push(frame)
      return frame
    }
    if (!isJson) throw new BaseProtocolError('not a JSON message')
    if (frame.length > MAX_LSP_MESSAGE_BYTES) {
      throw new BaseProtocolError(`message over ${MAX_LSP_MESSAGE_BYTES} bytes`, true)
    }
    return Buffer.concat([Buffer.from(`Content-Length: ${frame.length}\r\n\r\n`), frame])
  }
}
