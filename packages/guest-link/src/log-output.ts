import { Readable } from 'node:stream'
import { ReceiveWindow } from './receive-window.ts'

/** Consecutive bytes of one output of a kept command. */
export interface LogChunk {
  readonly stream: 'stdout' | 'stderr'
  /** Offset of the first byte. Bytes are numbered from 0 over both outputs together. */
  readonly offset: number
  readonly bytes: Buffer
}

/**
 * The output of a kept command as {@link LogChunk}s, both streams in their order. A slow reader never slows the
 * command: the guest drops the oldest bytes, and the offset of the next chunk jumps over them. At most one window of
 * bytes wait here. Small consecutive pieces are merged.
 */
export class LogOutput extends Readable {
  readonly #window: ReceiveWindow
  #waiting: Pending[] = []
  #isWanted = false
  #isComplete = false

  constructor(grant: (bytes: number) => void) {
    super({ objectMode: true, highWaterMark: 1 })
    this.#window = new ReceiveWindow(grant)
    // The attachment's `exited` reports the error too, so a caller need not listen here.
    this.on('error', () => {})
  }

  /** @throws GuestProtocolError if the guest sends more than its credit */
  receive(stream: LogChunk['stream'], offset: number, payload: Uint8Array): void {
    this.#window.take(payload.length, 'log')
    if (this.destroyed || this.#isComplete) {
      this.#window.consume(payload.length)
      return
    }
    this.#hold(stream, offset, payload)
    if (this.#isWanted) this._read()
  }

  /** The command has ended: no more output follows. */
  complete(): void {
    if (this.#isComplete) return
    this.#isComplete = true
    if (this.#waiting.length === 0 && !this.destroyed) this.push(null)
  }

  override _read(): void {
    this.#isWanted = true
    while (this.#isWanted) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      const bytes = next.pieces.length === 1 ? next.pieces[0] : Buffer.concat(next.pieces)
      this.#isWanted = this.push({ stream: next.stream, offset: next.offset, bytes })
      this.#window.consume(next.bytes)
    }
    if (this.#isComplete && this.#waiting.length === 0) this.push(null)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const held = this.#waiting.reduce((sum, pending) => sum + pending.bytes, 0)
    this.#waiting = []
    this.#window.consume(held)
    done(error)
  }

  #hold(stream: LogChunk['stream'], offset: number, payload: Uint8Array): void {
    const last = this.#waiting.at(-1)
    const piece = Buffer.from(payload)
    if (last !== undefined && last.stream === stream && last.offset + last.bytes === offset) {
      last.pieces.push(piece)
      last.bytes += piece.length
      if (last.pieces.length > PIECES_MAX) last.pieces = [Buffer.concat(last.pieces)]
    } else {
      this.#waiting.push({ stream, offset, pieces: [piece], bytes: piece.length })
    }
  }
}

/** Merges more pieces than this, so that small ones take memory for bytes and not for Buffer objects. */
const PIECES_MAX = 64

interface Pending {
  readonly stream: LogChunk['stream']
  readonly offset: number
  pieces: Buffer[]
  bytes: number
}
