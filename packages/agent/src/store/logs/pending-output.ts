import type { LogStream } from '@offshoot/contract/log'
import type { LineSplitter } from './line-splitter.ts'
import type { LogRecord } from './log-record.ts'

/** Bytes that become lines in one go. */
const BATCH_BYTES = 256 * 1024
/** Bytes that wait at most. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024
/** What one piece of output counts beside its bytes, so that many small ones are bounded too. */
const PIECE_BYTES = 256

/** Output that has not become lines yet. */
export interface Piece {
  readonly splitter: LineSplitter
  readonly stream: LogStream
  readonly source: string
  /** `null` ends the stream. */
  readonly bytes: Uint8Array | null
  readonly receivedAtMs: number
  /** How far its source had come with this piece, in bytes; `null` where nothing will ever go on from there. */
  readonly end: number | null
}

/** A remark about the log itself, as the fields of a line. */
export function remark(line: string) {
  return { ts: new Date().toISOString(), stream: 'stderr', line, source: 'offshoot' } as const
}

/** What waits to become lines: bounded, the oldest is left out and a remark says so. */
export class PendingOutput {
  #pieces: Piece[] = []
  #bytes = 0
  #leftOutBytes = 0

  get pieces(): number {
    return this.#pieces.length
  }

  add(piece: Piece): void {
    this.#pieces.push(piece)
    this.#bytes += sizeOf(piece)
    while (this.#bytes > MAX_PENDING_BYTES) {
      const oldest = this.#pieces.shift()
      if (!oldest) break
      this.#bytes -= sizeOf(oldest)
      this.#leftOutBytes += oldest.bytes?.length ?? 0
    }
  }

  clear(): void {
    this.#pieces = []
    this.#bytes = 0
  }

  /** Makes one batch of lines, numbered on from `lastNumber`; a piece may give none. */
  takeLines(lastNumber: number): LogRecord[] {
    const records: LogRecord[] = []
    let n = lastNumber
    if (this.#leftOutBytes > 0) {
      n += 1
      records.push({ n, ...remark(`${this.#leftOutBytes} bytes of output left out`) })
      this.#leftOutBytes = 0
    }
    for (const piece of this.#takeBatch()) {
      for (const record of linesOf(piece)) {
        n += 1
        records.push({ n, ...record })
      }
    }
    return records
  }

  #takeBatch(): Piece[] {
    let bytes = 0
    let count = 0
    for (const piece of this.#pieces) {
      if (bytes >= BATCH_BYTES) break
      count += 1
      bytes += sizeOf(piece)
    }
    this.#bytes -= bytes
    return this.#pieces.splice(0, count)
  }
}

function linesOf({ splitter, stream, source, bytes, receivedAtMs, end }: Piece): Omit<LogRecord, 'n'>[] {
  const lines = bytes === null ? splitter.end() : splitter.push(bytes)
  const ts = new Date(receivedAtMs).toISOString()
  const records = lines.map((line) => ({ ts, stream, line, source }))
  const last = records.at(-1)
  if (last === undefined || end === null) return records
  return [...records.slice(0, -1), { ...last, at: Math.max(0, end - splitter.restBytes) }]
}

function sizeOf({ bytes }: Piece): number {
  return PIECE_BYTES + (bytes?.length ?? 0)
}
