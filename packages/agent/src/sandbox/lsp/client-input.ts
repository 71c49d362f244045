/**
 * Translates the client's frames to the server's input. The first byte of the session selects the framing for both directions:
 * the base protocol, whose bytes are forwarded unchanged, or one JSON message per frame, to which the agent adds the header.
 */
import { MAX_LSP_MESSAGE_BYTES } from '@offshoot/contract/lsp'
import { BaseProtocol, BaseProtocolError } from './base-protocol.ts'

export interface LspFraming {
  readonly kind: 'base' | 'json'
  /** Whether the first frame was binary; the agent then answers with binary frames. */
  readonly isBinary: boolean
}

/** A JSON object or batch, possibly after white space. No header starts with these characters. */
const JSON_START = /^[\s[{]/

export class ClientInput {
  readonly #protocol = new BaseProtocol()
  #framing: LspFraming | undefined

  /** `undefined` until the first non-empty frame. */
  get framing(): LspFraming | undefined {
    return this.#framing
  }

  /** @returns the bytes for the server. @throws BaseProtocolError, which ends the session */
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
