import { Transform, type TransformCallback } from 'node:stream'

const NEWLINE = 10

/**
 * Passes server-sent events through and tracks whether the stream is between two frames, so that it can append an error
 * frame when its source breaks. Readers drop a cut frame (WHATWG HTML, 9.2.6), but not if more bytes follow it.
 */
export class EventStreamTail extends Transform {
  #last = NEWLINE
  #beforeLast = NEWLINE

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (chunk.length > 0) {
      this.#beforeLast = chunk.at(-2) ?? this.#last
      this.#last = chunk.at(-1) ?? this.#last
    }
    done(null, chunk)
  }

  /** The source broke: sends the error to the reader and ends the stream. */
  breakOff(error: string): void {
    if (this.writableEnded || this.destroyed) return
    const isBetweenFrames = this.#last === NEWLINE && this.#beforeLast === NEWLINE
    this.end(isBetweenFrames ? `event: error\ndata: ${JSON.stringify({ error })}\n\n` : '')
  }
}
