/**
 * The agent-wide event log on disk: JSON lines in segment files named by their first record. One process writes.
 *
 * Retention. The newest {@link KEPT_SEGMENTS} segments are kept complete. An older segment
 *  - is deleted once control has acknowledged all of its records;
 *  - until then is compacted: it keeps its state records and loses its noise, which guests can cause at will (open and close ports).
 * So no guest can displace another tenant's state records while control is away. Unacknowledged state records are limited by
 * {@link MAX_UNREAD_BYTES}, because they take disk space and the agent reads all of them at its start.
 */
import { open, readdir, readFile, rename, truncate, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { formatRecord, parseRecords } from './record-file.ts'

/** Bytes after which the log begins a new segment. */
const MAX_SEGMENT_BYTES = 4 * 1024 * 1024
/** Number of newest segments that are never compacted: some hundred thousand events. */
const KEPT_SEGMENTS = 8
/** Bytes of older unacknowledged state records: half a million changes. Control's reconciliation repairs lost ones. */
const MAX_UNREAD_BYTES = 256 * 1024 * 1024
const NOISE: ReadonlySet<EventType> = new Set(['sandbox.port_opened', 'sandbox.port_closed'])
const SEQ_DIGITS = 16
/** Added to the name of a segment, for what is kept of it after damage. */
const DAMAGED = '.damaged'
const NEWLINE = 0x0a
/** More records than a segment holds. After damage, numbers continue above every number that the segment may have used. */
const MAX_SEGMENT_RECORDS = MAX_SEGMENT_BYTES
/** The host lacks a resource: the file may be whole. */
const OUT_OF_RESOURCES: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

interface Segment {
  readonly path: string
  readonly firstSeq: number
  readonly bytes: number
  /** Whether its noise was removed. */
  readonly isCompacted: boolean
}

export interface SegmentsOptions {
  readonly maxUnreadBytes?: number
  /** Called after deleting state records that control has not acknowledged: those up to this number. */
  readonly onLost?: (lastSeq: number) => void
  /** Called with the file that keeps a segment that could not be read, or a copy of one from which damaged records were removed. */
  readonly onDamaged?: (path: string, error: unknown) => void
  /** Called if older segments could not be deleted or compacted. */
  readonly onTrimFailed?: (error: unknown) => void
}

export class Segments {
  readonly #folder: string
  readonly #segments: Segment[]
  readonly #options: SegmentsOptions
  #file: FileHandle
  /** Bytes of the newest segment. */
  #bytes: number
  #readSeq = 0

  private constructor(folder: string, segments: Segment[], file: FileHandle, bytes: number, options: SegmentsOptions) {
    this.#folder = folder
    this.#segments = segments
    this.#file = file
    this.#bytes = bytes
    this.#options = options
  }

  /**
   * Opens the log. Truncates a torn tail of its last segment. Keeps what cannot be read in a file beside the log, reports that,
   * and continues without it.
   * @param take called with every retained record, in order and once, one segment at a time
   * @throws as the file system does, if it cannot write or is out of resources; nothing is lost then
   */
  static async open(
    folder: string,
    take: (records: readonly AgentRecord[]) => void,
    options: SegmentsOptions = {},
  ): Promise<Segments> {
    const found = await listSegments(folder)
    const segments: Segment[] = []
    let lastSeq = 0
    let firstSeq = 1
    for (const [at, segment] of found.entries()) {
      const isLast = at === found.length - 1
      // An agent was killed between the two steps of `#merge`: the preceding segment has this one's state records.
      if (segment.firstSeq <= lastSeq && !isLast) {
        await unlink(segment.path)
        continue
      }
      const { content, wholeBytes, records, error } = await readSegment(segment.path)
      const isDamaged = content === null || content.includes(NEWLINE, wholeBytes)
      firstSeq = segment.firstSeq + (isDamaged ? MAX_SEGMENT_RECORDS : 0)
      if (isDamaged) {
        // The new segment comes first: without it, the next start would use the numbers of the lost records again.
        if (isLast) await createSegment(folder, firstSeq)
        await setAside(segment.path, content, wholeBytes)
        options.onDamaged?.(segment.path + DAMAGED, error)
      }
      take(records.filter(({ seq }) => seq > lastSeq))
      lastSeq = Math.max(lastSeq, records.at(-1)?.seq ?? 0)
      const isCompacted = at < found.length - KEPT_SEGMENTS
      if (content !== null) segments.push({ ...segment, bytes: wholeBytes, isCompacted })
    }
    if (segments.at(-1)?.firstSeq !== firstSeq) segments.push(await createSegment(folder, firstSeq))
    const { path, bytes } = segments.at(-1) as Segment
    const file = await open(path, 'a', 0o600)
    await file.truncate(bytes)
    await file.datasync()
    await syncFolder(folder)
    return new Segments(folder, segments, file, bytes, options)
  }

  /** The least number that the next record may have. */
  get minSeq(): number {
    return this.#segments.at(-1)?.firstSeq ?? 1
  }

  /**
   * Appends records. They are on disk when it resolves. After a failure, such as a full disk, the file is unchanged.
   * @param records not empty, with numbers that continue the last one, and are at least {@link minSeq}
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

  /** Control has stored all records up to this number. The number can decrease, when control is restored from a backup. */
  acknowledge(seq: number): void {
    this.#readSeq = seq
  }

  /**
   * The retained records from the segment that contains `seq` on, one segment at a time. If a segment is merged meanwhile, some
   * records are repeated.
   */
  async *readFrom(seq: number): AsyncGenerator<readonly AgentRecord[]> {
    for (let next = seq; ;) {
      const at = Math.max(
        0,
        this.#segments.findLastIndex(({ firstSeq }) => firstSeq <= next),
      )
      const segment = this.#segments[at]
      if (segment === undefined) return
      const { content, records, error } = await readSegment(segment.path)
      // The segment was deleted or merged before it was opened: find the segment that has its records now.
      if (content === null && !this.#segments.includes(segment)) continue
      if (content === null) this.#options.onDamaged?.(segment.path, error)
      yield records
      const following = this.#segments.find(({ firstSeq }) => firstSeq > Math.max(next, segment.firstSeq))
      if (following === undefined) return
      next = following.firstSeq
    }
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  async #begin(firstSeq: number): Promise<void> {
    const path = segmentPath(this.#folder, firstSeq)
    const file = await open(path, 'a', 0o600)
    await this.#file.close()
    const full = this.#segments.pop()
    if (full !== undefined) this.#segments.push({ ...full, bytes: this.#bytes })
    this.#file = file
    this.#bytes = 0
    this.#segments.push({ path, firstSeq, bytes: 0, isCompacted: false })
    // A failing compaction (full disk) must not fail the append that began this segment. The next segment retries it.
    await this.#trim().catch((error: unknown) => this.#options.onTrimFailed?.(error))
    await syncFolder(this.#folder)
  }

  async #trim(): Promise<void> {
    await this.#removeRead()
    await this.#compactUnread()
    await this.#removeBeyondLimit()
  }

  async #removeRead(): Promise<void> {
    while (this.#segments.length > KEPT_SEGMENTS) {
      const following = this.#segments[1]
      if (following === undefined || following.firstSeq - 1 > this.#readSeq) return
      await this.#removeOldest()
    }
  }

  async #removeOldest(): Promise<void> {
    const oldest = this.#segments.shift()
    if (oldest) await unlink(oldest.path)
  }

  async #compactUnread(): Promise<void> {
    for (let at = 0; at < this.#segments.length - KEPT_SEGMENTS;) {
      const segment = this.#segments[at]
      if (segment === undefined || segment.isCompacted) at++
      else await this.#merge(at, segment)
    }
  }

  /** Compacts a segment: appends its state records to the preceding compacted segment if they fit, otherwise keeps them in place. */
  async #merge(at: number, segment: Segment): Promise<void> {
    const { records } = parseRecords(await readFile(segment.path))
    const kept = Buffer.from(
      records
        .filter(({ event }) => !NOISE.has(event.type))
        .map(formatRecord)
        .join(''),
    )
    const before = this.#segments[at - 1]
    const isMerged = before?.isCompacted === true && before.bytes + kept.length <= MAX_SEGMENT_BYTES
    const into = isMerged ? before : segment
    const content = isMerged ? Buffer.concat([await readFile(before.path), kept]) : kept
    if (kept.length > 0) await writeFileDurably(into.path, content)
    const compacted = { ...into, bytes: content.length, isCompacted: true }
    if (isMerged) {
      this.#segments.splice(at - 1, 2, compacted)
      await unlink(segment.path)
    } else if (kept.length === 0) {
      this.#segments.splice(at, 1)
      await unlink(segment.path)
    } else this.#segments[at] = compacted
  }

  async #removeBeyondLimit(): Promise<void> {
    const { maxUnreadBytes = MAX_UNREAD_BYTES, onLost } = this.#options
    const unread = () => this.#segments.slice(0, -KEPT_SEGMENTS).reduce((sum, { bytes }) => sum + bytes, 0)
    while (unread() > maxUnreadBytes) {
      onLost?.((this.#segments[1]?.firstSeq ?? 1) - 1)
      await this.#removeOldest()
    }
  }
}

async function listSegments(folder: string): Promise<Pick<Segment, 'path' | 'firstSeq'>[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{16}\.jsonl$/.test(name)).sort()
  return names.map((name) => ({ path: join(folder, name), firstSeq: Number(name.slice(0, SEQ_DIGITS)) }))
}

/** @returns `content: null` with the error if it cannot be read */
async function readSegment(path: string) {
  try {
    const content = await readFile(path)
    return { content, ...parseRecords(content), error: null }
  } catch (error) {
    if (OUT_OF_RESOURCES.has((error as NodeJS.ErrnoException).code)) throw error
    return { content: null, records: [], wholeBytes: 0, error }
  }
}

async function createSegment(folder: string, firstSeq: number): Promise<Segment> {
  const path = segmentPath(folder, firstSeq)
  await (await open(path, 'a', 0o600)).close()
  return { path, firstSeq, bytes: 0, isCompacted: false }
}

/** Copies a damaged segment and truncates it to its whole records; moves one that cannot be read. An operator may need either. */
async function setAside(path: string, content: Buffer | null, wholeBytes: number): Promise<void> {
  if (content === null) return rename(path, path + DAMAGED)
  await writeFileDurably(path + DAMAGED, content)
  await truncate(path, wholeBytes)
}

function segmentPath(folder: string, firstSeq: number): string {
  return join(folder, `${String(firstSeq).padStart(SEQ_DIGITS, '0')}.jsonl`)
}
