import type { LogStream } from '@offshoot/contract/log'
import type { LineSplitter } from './line-splitter.ts'
import type { LogRecord } from './log-record.ts'

/** Bytes per batch that is split into lines. */
const BATCH_BYTES = 256 * 1024
/** Maximum bytes of pending output. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024
/** Overhead that each piece counts beside its bytes, so that the limit also holds for many small pieces. */
const PIECE_BYTES = 256

/** A chunk of output that is not split into lines yet. */
export interface Piece {
  readonly splitter: LineSplitter
  readonly stream: LogStream
  readonly source: string
  /** `null` ends the stream. */
  readonly bytes: Uint8Array | null
  readonly receivedAtMs: number
  /** Offset of the piece's end in its source, in bytes; `null` if no reader will ever resume from it. */
  readonly end: number | null
}

/** The fields of a line that the agent itself writes, about the log. */
export function remark(line: string) {
  return { ts: new Date().toISOString(), stream: 'stderr', line, source: 'offshoot' } as const
}

/** A bounded queue of output. When it is full it drops the oldest pieces, and a remark in the log says how many bytes. */
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

  /** Splits one batch into lines, numbered from `lastNumber + 1`. May return none: a piece may end within a line. */
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
