import { BaseProtocol } from './base-protocol.ts'

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
