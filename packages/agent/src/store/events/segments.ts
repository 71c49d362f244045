import { open, readdir, readFile, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import { formatRecord, parseRecords } from './record-file.ts'

/** Bytes after which a segment is closed and the next begun. */
const MAX_SEGMENT_BYTES = 4 * 1024 * 1024
/** Segments kept; some hundred thousand events. Control compares lists when it was away for longer. */
const MAX_SEGMENTS = 8
const SEQ_DIGITS = 16

interface Segment {
  readonly path: string
  readonly firstSeq: number
}

/** The agent-wide log on disk: JSON lines in files named by their first record. One process writes. */
export class Segments {
  readonly #folder: string
  readonly #segments: Segment[]
  #file: FileHandle
  #bytes: number

  private constructor(folder: string, segments: Segment[], file: FileHandle, bytes: number) {
    this.#folder = folder
    this.#segments = segments
    this.#file = file
    this.#bytes = bytes
  }

  /** Opens the log, cuts a torn tail off its last segment, and gives every record kept. */
  static async open(folder: string): Promise<{ segments: Segments; records: AgentRecord[] }> {
    const found = await listSegments(folder)
    const records: AgentRecord[] = []
    for (const { path } of found.slice(0, -1)) records.push(...parseRecords(await readFile(path)).records)
    const last = found.at(-1) ?? { path: segmentPath(folder, 1), firstSeq: 1 }
    if (found.length === 0) found.push(last)
    const file = await open(last.path, 'a+', 0o600)
    const tail = parseRecords(await file.readFile())
    await file.truncate(tail.wholeBytes)
    await file.datasync()
    await syncFolder(folder)
    records.push(...tail.records)
    return { segments: new Segments(folder, found, file, tail.wholeBytes), records }
  }

  /**
   * Appends records; they are on disk when it resolves. On failure (a full disk) the file is as before.
   * @param records not empty, numbered on from the last
   */
  async append(records: readonly AgentRecord[]): Promise<void> {
    if (this.#bytes >= MAX_SEGMENT_BYTES && records[0]) await this.#begin(records[0].seq)
    const data = Buffer.from(records.map(formatRecord).join(''))
    try {
      await this.#file.appendFile(data)
      await this.#file.datasync()
      this.#bytes += data.length
    } catch (error) {
      await this.#file.truncate(this.#bytes)
      throw error
    }
  }

  /** The kept records from the segment that holds `seq` on, one segment at a time. */
  async *readFrom(seq: number): AsyncGenerator<readonly AgentRecord[]> {
    const next = this.#segments.findIndex(({ firstSeq }) => firstSeq > seq)
    const first = Math.max(0, (next < 0 ? this.#segments.length : next) - 1)
    for (const { path } of this.#segments.slice(first)) yield parseRecords(await readFile(path)).records
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  async #begin(firstSeq: number): Promise<void> {
    const path = segmentPath(this.#folder, firstSeq)
    const file = await open(path, 'a', 0o600)
    await this.#file.close()
    this.#file = file
    this.#bytes = 0
    this.#segments.push({ path, firstSeq })
    while (this.#segments.length > MAX_SEGMENTS) {
      const oldest = this.#segments.shift()
      if (oldest) await unlink(oldest.path)
    }
    await syncFolder(this.#folder)
  }
}

async function listSegments(folder: string): Promise<Segment[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{16}\.jsonl$/.test(name)).sort()
  return names.map((name) => ({ path: join(folder, name), firstSeq: Number(name.slice(0, SEQ_DIGITS)) }))
}

function segmentPath(folder: string, firstSeq: number): string {
  return join(folder, `${String(firstSeq).padStart(SEQ_DIGITS, '0')}.jsonl`)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
