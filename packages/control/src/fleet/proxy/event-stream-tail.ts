import { Transform, type TransformCallback } from 'node:stream'

const NEWLINE = 10

/**
 * Passes server-sent events through and knows whether they stand between two frames, so that a stream whose source
 * breaks can still say so. A frame that was cut is dropped by every reader (WHATWG HTML, 9.2.6), but not if more follows.
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

  /** The source is gone: the reader hears why, and the stream ends. */
  breakOff(error: string): void {
    if (this.writableEnded || this.destroyed) return
    const isBetweenFrames = this.#last === NEWLINE && this.#beforeLast === NEWLINE
    this.end(isBetweenFrames ? `event: error\ndata: ${JSON.stringify({ error })}\n\n` : '')
  }
}
