import type { AgentRecord } from '@offshoot/contract/agent-api'
import { EVENT_RING, type EventsSince, type EventType } from '@offshoot/contract/event'
import type { Logger } from 'pino'
import { ChangeSignal } from './change-signal.ts'
import { SandboxEventFile, type LastRecord } from './sandbox-event-file.ts'

/**
 * The events of one sandbox for those who read them: the newest in memory, shared by all readers, older ones on disk.
 *
 *     backfill from disk ──► memory ──► live
 *
 * Invariants: records come in the order of their numbers, which have no gap; a reader sets its own pace and nothing is
 * queued for it; one that has been live and falls behind by more than the ring is told how many it missed, and only that one.
 */

/** Records a reader is given at a time: what a slow one holds. */
const BATCH = 32
/** Records read from disk at a time. */
const PAGE = 512

/** So many records are no longer there for this reader. */
export interface Dropped {
  readonly dropped: number
}

export type Delivery = readonly AgentRecord[] | Dropped

export class SandboxEvents {
  readonly #file: SandboxEventFile
  readonly #log: Logger
  readonly #changes = new ChangeSignal()
  /** Trimmed when it holds twice the ring, so that adding costs the same at all times. */
  #recent: AgentRecord[] = []
  #unwritten: AgentRecord[] = []
  /** Number of the last event, where none was read when an agent started; else 0. */
  #lastOnDisk = 0
  #isWriting = false
  #writing = Promise.resolve()
  #isClosed = false

  constructor(folder: string, log: Logger) {
    this.#file = new SandboxEventFile(folder)
    this.#log = log
  }

  /** What an earlier agent wrote, and what it had no time to write. Before the first {@link add}. */
  async load(missing: readonly AgentRecord[]): Promise<void> {
    const kept = await this.#file.load()
    const last = kept.at(-1)?.number ?? 0
    const lacking = missing.filter(({ number }) => number > last)
    if (lacking.length > 0) await this.#file.append(lacking)
    this.#recent = [...kept, ...lacking].slice(-EVENT_RING)
  }

  /**
   * In the place of {@link load} for a sandbox that hibernates, where nothing is missing: what came before the last event is
   * read from the disk when somebody asks for it.
   */
  resume(last: LastRecord): void {
    this.#file.resume(last)
    this.#lastOnDisk = last.record.number
  }

  /** Brings the newest events into memory, where {@link resume} left them on the disk. */
  async recall(): Promise<void> {
    if (this.#lastOnDisk === 0) return
    await this.#writing
    const kept = await this.#file.read(Math.max(0, this.#lastOnDisk - EVENT_RING), EVENT_RING)
    const first = this.#recent[0]?.number ?? Infinity
    this.#recent = [...kept.filter(({ number }) => number < first), ...this.#recent].slice(-EVENT_RING)
    if (this.#recent.length > 0) this.#lastOnDisk = 0
  }

  /** Number of the last event, 0 when there is none. */
  get last(): number {
    return this.#recent.at(-1)?.number ?? this.#lastOnDisk
  }

  /** Number of the oldest event in memory. */
  get firstInMemory(): number {
    return this.#recent.at(-EVENT_RING)?.number ?? this.#recent[0]?.number ?? this.last + 1
  }

  /** Whether one of the newest events is of this type. */
  has(type: EventType): boolean {
    return this.#recent.some(({ event }) => event.type === type)
  }

  /** The newest event of these types that is still in memory. */
  lastOf(types: ReadonlySet<EventType>): EventType | undefined {
    return this.#recent.findLast(({ event }) => types.has(event.type))?.event.type
  }

  /** The ports that were last said to be open, as far as that is still in memory. */
  openPorts(): Set<number> {
    const open = new Set<number>()
    for (const { event } of this.#recent) {
      const { port } = event.metadata
      if (event.type === 'sandbox.port_opened' && typeof port === 'number') open.add(port)
      if (event.type === 'sandbox.port_closed' && typeof port === 'number') open.delete(port)
    }
    return open
  }

  /** Takes a record that is durable in the agent's log. */
  add(record: AgentRecord): void {
    this.#recent.push(record)
    if (this.#recent.length > 2 * EVENT_RING) this.#recent = this.#recent.slice(-EVENT_RING)
    this.#unwritten.push(record)
    if (!this.#isWriting) this.#writing = this.#write()
    this.#changes.notify()
  }

  /** The number after which a reader of `since` begins. */
  async cursorOf(since: EventsSince): Promise<number> {
    if (since.kind === 'number') return since.number
    const isBefore = ({ event }: AgentRecord) => Date.parse(event.ts) <= since.ms
    const inMemory = this.#recent.slice(-EVENT_RING)
    const at = inMemory.findLast(isBefore)
    if (at) return at.number
    let cursor = 0
    await this.#writing
    for (;;) {
      const page = await this.#file.read(cursor, PAGE)
      const [first] = page
      if (first === undefined) return cursor
      const before = page.findLast(isBefore)
      if (before === undefined) return first.number - 1
      cursor = before.number
    }
  }

  /** The kept records after a number, up to the last one there is now. */
  async snapshot(after: number): Promise<AgentRecord[]> {
    const records: AgentRecord[] = []
    const { last } = this
    for (let cursor = after; cursor < last;) {
      const page = await this.#page(cursor)
      records.push(...page.filter(({ number }) => number <= last))
      cursor = page.at(-1)?.number ?? last
    }
    return records
  }

  /** Everything after a number, then live, until the signal aborts or the sandbox is no more. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<Delivery> {
    let isLive = false
    for (let cursor = after; !signal.aborted;) {
      if (cursor >= this.last) {
        if (this.#isClosed) return
        isLive = true
        await this.#changes.wait(signal)
        continue
      }
      const page = isLive ? this.#inMemory(cursor, BATCH) : await this.#page(cursor)
      const dropped = (page[0]?.number ?? this.last + 1) - cursor - 1
      if (dropped > 0) yield { dropped }
      cursor += dropped
      // From memory what comes next is looked at anew: it may have gone on while the reader was busy.
      for (let at = 0; at < page.length && !signal.aborted; at += BATCH) {
        const batch = page.slice(at, at + BATCH)
        yield batch
        cursor = batch.at(-1)?.number ?? cursor
      }
    }
  }

  /** Readers get what there is and end; nothing is written any more when it resolves. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#changes.notify()
    await this.#writing
  }

  async #page(cursor: number): Promise<readonly AgentRecord[]> {
    if (cursor + 1 >= this.firstInMemory) return this.#inMemory(cursor)
    await this.#writing
    const page = await this.#file.read(cursor, PAGE)
    return page.length > 0 ? page : this.#inMemory(cursor)
  }

  #inMemory(cursor: number, count = EVENT_RING): readonly AgentRecord[] {
    const outside = Math.max(0, this.#recent.length - EVENT_RING)
    const from = Math.max(outside, cursor + 1 - (this.#recent[0]?.number ?? 0))
    return this.#recent.slice(from, from + count)
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#unwritten.length > 0) {
      const records = this.#unwritten
      this.#unwritten = []
      await this.#file
        .append(records)
        .catch((error: unknown) => this.#log.warn({ err: error }, 'sandbox event file not written'))
    }
    this.#isWriting = false
  }
}
