import type { AgentRecord } from '@offshoot/contract/agent-api'
import { eventCode, type EventType } from '@offshoot/contract/event'
import type { AgentId, SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { Segments, type SegmentsOptions } from './segments.ts'

/**
 * The agent's durable event log.
 *
 * Invariants:
 *  - Numbers start at 1. They have a gap only where records were damaged, or compacted (`segments.ts`).
 *  - A record is on disk before its writer or any follower gets it.
 *  - Records that wait at the same time share one write and one fsync (group commit).
 * `segments.ts` decides which old records are deleted; port events are the first.
 */

/** Maximum records per write, and maximum waiting records. */
const MAX_GROUP = 256
const MAX_WAITING = 8192
/** Newest records in memory, so that live followers never read from disk. */
const RECENT = 2048

export interface EventDraft {
  readonly type: EventType
  readonly sandboxId: SandboxId
  /** `null` for a VM without a manifest. */
  readonly workspaceId: WorkspaceId | null
  readonly message: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The last record of one sandbox. */
export interface SandboxPosition {
  readonly seq: number
  readonly number: number
  readonly type: EventType
  /** Timestamp of that record. The next record's timestamp is later. */
  readonly ts: string
}

interface Waiting {
  readonly draft: EventDraft
  readonly ts: string
  readonly resolve: (record: AgentRecord) => void
  readonly reject: (error: unknown) => void
}

export class EventLog {
  readonly #agentId: AgentId
  readonly #segments: Segments
  readonly #positions: Map<string, SandboxPosition>
  #recent: AgentRecord[] = []
  #lastSeq = 0
  #waiting: Waiting[] = []
  #isWriting = false
  #writing = Promise.resolve()
  #changed = Promise.withResolvers<void>()

  private constructor(agentId: AgentId, segments: Segments, kept: Kept) {
    this.#agentId = agentId
    this.#segments = segments
    this.#positions = kept.positions
    const lastSeq = kept.recent.at(-1)?.seq ?? 0
    this.#lastSeq = Math.max(lastSeq, segments.minSeq - 1)
    // Without gaps: after damage, numbers continue higher.
    this.#recent = this.#lastSeq === lastSeq ? kept.recent : []
  }

  static async open(folder: string, agentId: AgentId, options?: SegmentsOptions): Promise<EventLog> {
    const kept: Kept = { positions: new Map(), recent: [] }
    const segments = await Segments.open(folder, (records) => keep(kept, records), options)
    return new EventLog(agentId, segments, kept)
  }

  /** Number of the last durable record, 0 when there is none. After damage, the highest number that may have been used. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** `null` for a sandbox without a retained record. */
  position(id: SandboxId): SandboxPosition | null {
    return this.#positions.get(id) ?? null
  }

  /** Sets the position of a sandbox whose newest records are no longer in the retained segments. */
  restorePosition(id: SandboxId, position: SandboxPosition): void {
    if ((this.#positions.get(id)?.number ?? 0) < position.number) this.#positions.set(id, position)
  }

  /** Control has stored all records up to this number: older segments may be deleted. */
  acknowledge(seq: number): void {
    this.#segments.acknowledge(seq)
  }

  /** Forgets the position of a deleted sandbox. */
  forget(id: SandboxId): void {
    this.#positions.delete(id)
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#positions.keys()) if (!ids.has(id)) this.#positions.delete(id)
  }

  /** Resolves when the record is on disk. @throws Error if it cannot be written (full disk), or too many records wait */
  append(draft: EventDraft): Promise<AgentRecord> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new Error('event log: too many records waiting'))
    const { promise, resolve, reject } = Promise.withResolvers<AgentRecord>()
    this.#waiting.push({ draft, ts: new Date().toISOString(), resolve, reject })
    if (!this.#isWriting) this.#writing = this.#write()
    return promise
  }

  /**
   * The retained records after `seq`, then each new one, in order and without repeat, until the signal aborts.
   * Buffers nothing for a slow consumer: it reads from disk the records that are no longer in memory.
   */
  async *follow(seq: number, signal: AbortSignal): AsyncGenerator<readonly AgentRecord[]> {
    for (let cursor = seq; !signal.aborted;) {
      if (cursor >= this.#lastSeq) {
        await this.#changeOr(signal)
        continue
      }
      const end = this.#lastSeq
      for await (const batch of this.#kept(cursor)) {
        const unseen = batch.filter((record) => record.seq > cursor && record.seq <= this.#lastSeq)
        for (let at = 0; at < unseen.length && !signal.aborted; at += MAX_GROUP) yield unseen.slice(at, at + MAX_GROUP)
        cursor = unseen.at(-1)?.seq ?? cursor
        if (signal.aborted) return
      }
      // Records up to here that were not read are not retained.
      cursor = Math.max(cursor, end)
    }
  }

  /** Every retained record from `seq` on, up to the current end. */
  async *kept(seq: number): AsyncGenerator<readonly AgentRecord[]> {
    yield* this.#segments.readFrom(seq)
  }

  async close(): Promise<void> {
    await this.#writing
    await this.#segments.close()
  }

  /** Waits for the next record or an abort. Removes its listener, because the signal may live for days. */
  async #changeOr(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    signal.addEventListener('abort', wake, { once: true })
    void this.#changed.promise.then(wake)
    await promise
    signal.removeEventListener('abort', wake)
  }

  async *#kept(cursor: number): AsyncGenerator<readonly AgentRecord[]> {
    const first = this.#recent[0]
    if (first && first.seq <= cursor + 1) yield this.#recent.slice(cursor + 1 - first.seq)
    else yield* this.#segments.readFrom(cursor + 1)
  }

  /** Clears `#isWriting` in the same turn in which it finds no waiting record, so that a later append starts a new write. */
  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP)
      const records = this.#number(group)
      try {
        await this.#segments.append(records)
      } catch (error) {
        for (const { reject } of group) reject(error)
        continue
      }
      this.#commit(records)
      group.forEach(({ resolve }, index) => resolve(records[index] as AgentRecord))
      // `setImmediate`: the writer's callers get their answer before the agent serializes the events for followers.
      setImmediate(() => this.#wakeFollowers())
    }
    this.#isWriting = false
  }

  #number(group: readonly Waiting[]): AgentRecord[] {
    const last = new Map<string, Pick<SandboxPosition, 'number' | 'ts'>>()
    return group.map(({ draft, ts }, index) => {
      const { sandboxId, type, message, metadata } = draft
      const previous = last.get(sandboxId) ?? this.#positions.get(sandboxId)
      const number = (previous?.number ?? 0) + 1
      const at = laterThan(previous?.ts, ts)
      last.set(sandboxId, { number, ts: at })
      const event = { ts: at, sandbox_id: sandboxId, agent_id: this.#agentId, type, code: eventCode(type), message }
      return {
        seq: this.#lastSeq + 1 + index,
        number,
        workspace_id: draft.workspaceId,
        event: { ...event, metadata: { ...metadata } },
      }
    })
  }

  #commit(records: readonly AgentRecord[]): void {
    place(this.#positions, records)
    this.#lastSeq = records.at(-1)?.seq ?? this.#lastSeq
    this.#recent = [...this.#recent, ...records].slice(-RECENT)
  }

  #wakeFollowers(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}

/** The state that a starting agent loads from the records on disk. */
interface Kept {
  readonly positions: Map<string, SandboxPosition>
  recent: AgentRecord[]
}

function keep(kept: Kept, records: readonly AgentRecord[]): void {
  place(kept.positions, records)
  const recent = [...kept.recent, ...records].slice(-RECENT)
  // Compacted segments have gaps, but the records in memory must not.
  const gap = recent.findLastIndex(({ seq }, at) => at > 0 && recent[at - 1]?.seq !== seq - 1)
  kept.recent = recent.slice(Math.max(0, gap))
}

function place(positions: Map<string, SandboxPosition>, records: readonly AgentRecord[]): void {
  for (const { seq, number, event } of records) {
    positions.set(event.sandbox_id, { seq, number, type: event.type, ts: event.ts })
  }
}

/** Makes timestamps of a sandbox strictly increasing, even if the clock steps back: readers resume after a timestamp. */
function laterThan(previous: string | undefined, ts: string): string {
  if (previous === undefined || previous < ts) return ts
  return new Date(Date.parse(previous) + 1).toISOString()
}
