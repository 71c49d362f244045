import type { Encoding } from '@offshoot/contract/encoding'
import { Utf8Chunks } from './utf8-chunks.ts'

/** The bytes of a text in a request. */
export function bytesOf(text: string, encoding: Encoding | undefined): Buffer
export function bytesOf(text: string | undefined, encoding: Encoding | undefined): Buffer | undefined
export function bytesOf(text: string | undefined, encoding: Encoding | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text, encoding)
}

/** Makes texts from the chunks of one stream of output. */
export interface ChunkEncoder {
  /** Bytes that the encoder holds back, because their character is incomplete. */
  readonly heldBytes: number
  /** May be empty. */
  push(chunk: Buffer): string
  /** The rest at the end of the stream. */
  end(): string
}

export function chunkEncoder(encoding: Encoding | undefined): ChunkEncoder {
  return encoding === 'base64' ? BASE64 : new Utf8Chunks()
}

/** Each chunk can be decoded by itself. */
const BASE64: ChunkEncoder = {
  heldBytes: 0,
  push: (chunk) => chunk.toString('base64'),
  end: () => '',
}
