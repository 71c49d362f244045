import type { AgentRecord } from '@offshoot/contract/agent-api'
import { EVENT_RING, type EventsSince, type EventType } from '@offshoot/contract/event'
import type { Logger } from 'pino'
import { ChangeSignal } from './change-signal.ts'
import { SandboxEventFile, type LastRecord } from './sandbox-event-file.ts'

/**
 * The events of one sandbox for its readers. The newest are in memory, shared by all readers; older ones are on disk.
 *
 *     backfill from disk ──► memory ──► live
 *
 * Invariants:
 *  - A reader gets records in the order of their numbers, which have no gap.
 *  - Nothing is buffered for a slow reader.
 *  - A live reader that falls behind by more than {@link EVENT_RING} records gets the number of dropped records. Other readers are
 *    not affected.
 */

/** Maximum records per delivery: what a slow reader keeps in memory. */
const BATCH = 32
/** Records per read from disk. */
const PAGE = 512

/** This reader missed so many records. */
export interface Dropped {
  readonly dropped: number
}

export type Delivery = readonly AgentRecord[] | Dropped

export class SandboxEvents {
  readonly #file: SandboxEventFile
  readonly #log: Logger
  readonly #changes = new ChangeSignal()
  /** Trimmed only at twice the ring's size, so that `add` has constant amortized cost. */
  #recent: AgentRecord[] = []
  #unwritten: AgentRecord[] = []
  /** Number of the last event after {@link resume}, while no event is in memory; otherwise 0. */
  #lastOnDisk = 0
  #isWriting = false
  #writing = Promise.resolve()
  #isClosed = false

  constructor(folder: string, log: Logger) {
    this.#file = new SandboxEventFile(folder)
    this.#log = log
  }

  /** Loads the events on disk and appends the missing ones. Call before the first {@link add}. */
  async load(missing: readonly AgentRecord[]): Promise<void> {
    const kept = await this.#file.load()
    const last = kept.at(-1)?.number ?? 0
    const lacking = missing.filter(({ number }) => number > last)
    if (lacking.length > 0) await this.#file.append(lacking)
    this.#recent = [...kept, ...lacking].slice(-EVENT_RING)
  }

  /**
   * Replaces {@link load} for a hibernated sandbox without missing events. Earlier events are read from disk on demand.
   */
  resume(last: LastRecord): void {
    this.#file.resume(last)
    this.#lastOnDisk = last.record.number
  }

  /** Loads the newest events into memory after {@link resume}. */
  async recall(): Promise<void> {
    if (this.#lastOnDisk === 0) return
    await this.#writing
    const kept = await this.#file.read(Math.max(0, this.#lastOnDisk - EVENT_RING), EVENT_RING)
    const first = this.#recent[0]?.number ?? Infinity
    this.#recent = [...kept.filter(({ number }) => number < first), ...this.#recent].slice(-EVENT_RING)
    if (this.#recent.length > 0) this.#lastOnDisk = 0
  }

  /** Number of the last event; 0 if there is none. */
  get last(): number {
    return this.#recent.at(-1)?.number ?? this.#lastOnDisk
  }

  /** Number of the oldest event in memory. */
  get firstInMemory(): number {
    return this.#recent.at(-EVENT_RING)?.number ?? this.#recent[0]?.number ?? this.last + 1
  }

  /** Whether an event of this type is in memory. */
  has(type: EventType): boolean {
    return this.#recent.some(({ event }) => event.type === type)
  }

  /** The type of the newest event in memory that is one of `types`. */
  lastOf(types: ReadonlySet<EventType>): EventType | undefined {
    return this.#recent.findLast(({ event }) => types.has(event.type))?.event.type
  }

  /** The ports that are open according to the events in memory. */
  openPorts(): Set<number> {
    const open = new Set<number>()
    for (const { event } of this.#recent) {
      const { port } = event.metadata
      if (event.type === 'sandbox.port_opened' && typeof port === 'number') open.add(port)
      if (event.type === 'sandbox.port_closed' && typeof port === 'number') open.delete(port)
    }
    return open
  }

  /** Adds a record that is already durable in the agent's event log. */
  add(record: AgentRecord): void {
    this.#recent.push(record)
    if (this.#recent.length > 2 * EVENT_RING) this.#recent = this.#recent.slice(-EVENT_RING)
    this.#unwritten.push(record)
    if (!this.#isWriting) this.#writing = this.#write()
    this.#changes.notify()
  }

  /** The number of the last event that `since` excludes. */
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

  /** The retained records after a number, up to the current last one. */
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

  /** All records after a number, then live ones, until the signal aborts or {@link close}. */
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
      // A page from memory is one batch long: while the reader is busy, the ring may move on, so the next page is looked up anew.
      for (let at = 0; at < page.length && !signal.aborted; at += BATCH) {
        const batch = page.slice(at, at + BATCH)
        yield batch
        cursor = batch.at(-1)?.number ?? cursor
      }
    }
  }

  /** Readers get the remaining records and end. All writes have finished when it resolves. */
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
