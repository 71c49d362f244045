import type { Logger } from 'pino'
import type { RecordRead } from './read-record.ts'

/** The kind of object that a record describes. */
export type RecordKind = 'sandbox' | 'snapshot' | 'volume' | 'template' | 'build'

export interface UnreadableRecord {
  readonly kind: RecordKind
  /** The object's id: the name of its folder. */
  readonly id: string
  /** The path of the record's file. */
  readonly path: string
  /** The reason why this agent cannot use it. */
  readonly reason: string
  /** The time at which this agent noticed it, RFC 3339. */
  readonly since: string
}

/**
 * The objects whose records this agent cannot read. The agent deletes nothing that such a record describes, or may refer
 * to, until an operator has repaired or removed the record.
 */
export class UnreadableRecords {
  readonly #records = new Map<string, UnreadableRecord>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  get all(): UnreadableRecord[] {
    return [...this.#records.values()]
  }

  /** Returns the record of a readable file. Remembers an unreadable one, and reports it once. */
  take<T>(kind: RecordKind, id: string, read: RecordRead<T>): T | null {
    if (read.state === 'unreadable') this.#note({ kind, id, path: read.path, reason: messageOf(read.error) })
    else this.#records.delete(keyOf(kind, id))
    return read.state === 'present' ? read.record : null
  }

  forget(kind: RecordKind, id: string): void {
    this.#records.delete(keyOf(kind, id))
  }

  has(kind: RecordKind, id: string): boolean {
    return this.#records.has(keyOf(kind, id))
  }

  /** The ids of objects of one kind. */
  idsOf(kind: RecordKind): string[] {
    return this.all.filter((record) => record.kind === kind).map(({ id }) => id)
  }

  /** Whether every record of these kinds is readable. Only then are all their references known. */
  areReadable(...kinds: readonly RecordKind[]): boolean {
    return !this.all.some(({ kind }) => kinds.includes(kind))
  }

  #note(noted: Omit<UnreadableRecord, 'since'>): void {
    const key = keyOf(noted.kind, noted.id)
    const before = this.#records.get(key)
    const record = { ...noted, since: before?.since ?? new Date().toISOString() }
    if (before?.reason !== record.reason) {
      this.#log.error(record, `record of a ${record.kind} cannot be read: its data is kept (docs/recovery.md)`)
    }
    this.#records.set(key, record)
  }
}

function keyOf(kind: RecordKind, id: string): string {
  return `${kind}/${id}`
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(/\s+/g, ' ').slice(0, 300)
}
