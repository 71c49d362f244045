import type { AgentRecord } from '@offshoot/contract/agent-api'
import { eventCode, type EventType } from '@offshoot/contract/event'
import type { AgentId, SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { Segments, type SegmentsOptions } from './segments.ts'

/**
 * The agent's durable log: what it says has happened, has happened.
 *
 * Invariants: numbers start at 1 and are given out without gap; a record is on disk before anyone hears of it, its writer
 * included; records that wait at the same time share one write and one sync. Old records leave as `segments.ts` says: those
 * that tell of ports first.
 */

/** Records one write takes at most, and waiting ones in all. */
const MAX_GROUP = 256
const MAX_WAITING = 8192
/** Newest records kept in memory, so that live followers never read the disk. */
const RECENT = 2048

export interface EventDraft {
  readonly type: EventType
  readonly sandboxId: SandboxId
  /** `null` for a VM of which there is no manifest. */
  readonly workspaceId: WorkspaceId | null
  readonly message: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Where one sandbox stands in the log. */
export interface SandboxPosition {
  readonly seq: number
  readonly number: number
  readonly type: EventType
  /** Of that record; the next one's is later. */
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
    this.#recent = kept.recent
    this.#lastSeq = kept.recent.at(-1)?.seq ?? 0
  }

  static async open(folder: string, agentId: AgentId, options?: SegmentsOptions): Promise<EventLog> {
    const kept: Kept = { positions: new Map(), recent: [] }
    const segments = await Segments.open(folder, (records) => keep(kept, records), options)
    return new EventLog(agentId, segments, kept)
  }

  /** Number of the last durable record, 0 when there is none. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** `null` for a sandbox that no kept record names. */
  position(id: SandboxId): SandboxPosition | null {
    return this.#positions.get(id) ?? null
  }

  /** Tells where a sandbox stands whose newest records have left the kept segments. */
  restorePosition(id: SandboxId, position: SandboxPosition): void {
    if ((this.#positions.get(id)?.number ?? 0) < position.number) this.#positions.set(id, position)
  }

  /** Control has all records up to this number: older segments may go. */
  acknowledge(seq: number): void {
    this.#segments.acknowledge(seq)
  }

  /** Drops what is remembered of a sandbox that is no more. */
  forget(id: SandboxId): void {
    this.#positions.delete(id)
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#positions.keys()) if (!ids.has(id)) this.#positions.delete(id)
  }

  /** Resolves when the record is on disk. @throws when it is not: a full disk, or too many waiting */
  append(draft: EventDraft): Promise<AgentRecord> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new Error('event log: too many records waiting'))
    const { promise, resolve, reject } = Promise.withResolvers<AgentRecord>()
    this.#waiting.push({ draft, ts: new Date().toISOString(), resolve, reject })
    if (!this.#isWriting) this.#writing = this.#write()
    return promise
  }

  /**
   * The kept records after `seq`, then each new one, in order and without repeat, until the signal aborts.
   * The consumer sets the pace: nothing is buffered for a slow one, it reads from disk what has left memory.
   */
  async *follow(seq: number, signal: AbortSignal): AsyncGenerator<readonly AgentRecord[]> {
    for (let cursor = seq; !signal.aborted;) {
      if (cursor >= this.#lastSeq) {
        await this.#changeOr(signal)
        continue
      }
      for await (const batch of this.#kept(cursor)) {
        const unseen = batch.filter((record) => record.seq > cursor && record.seq <= this.#lastSeq)
        for (let at = 0; at < unseen.length && !signal.aborted; at += MAX_GROUP) yield unseen.slice(at, at + MAX_GROUP)
        cursor = unseen.at(-1)?.seq ?? cursor
        if (signal.aborted) return
      }
    }
  }

  /** Every kept record from `seq` on, as far as it goes now. */
  async *kept(seq: number): AsyncGenerator<readonly AgentRecord[]> {
    yield* this.#segments.readFrom(seq)
  }

  async close(): Promise<void> {
    await this.#writing
    await this.#segments.close()
  }

  /** Waits for the next record or the end of the wish for it; leaves nothing on a signal that lives for days. */
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

  /** Resets the flag in the same turn in which it finds nothing waiting: a record that comes later starts anew. */
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
      // Who waits for an answer to what was written gets it before we make events of it for others.
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

/** What an agent that starts takes from the records on disk. */
interface Kept {
  readonly positions: Map<string, SandboxPosition>
  recent: AgentRecord[]
}

function keep(kept: Kept, records: readonly AgentRecord[]): void {
  place(kept.positions, records)
  const recent = [...kept.recent, ...records].slice(-RECENT)
  // Older segments have lost records; those in memory have no gap.
  const gap = recent.findLastIndex(({ seq }, at) => at > 0 && recent[at - 1]?.seq !== seq - 1)
  kept.recent = recent.slice(Math.max(0, gap))
}

function place(positions: Map<string, SandboxPosition>, records: readonly AgentRecord[]): void {
  for (const { seq, number, event } of records) {
    positions.set(event.sandbox_id, { seq, number, type: event.type, ts: event.ts })
  }
}

/** A timestamp names one event of a sandbox, whatever the clock does: readers go on after it without gap or repeat. */
function laterThan(previous: string | undefined, ts: string): string {
  if (previous === undefined || previous < ts) return ts
  return new Date(Date.parse(previous) + 1).toISOString()
}
