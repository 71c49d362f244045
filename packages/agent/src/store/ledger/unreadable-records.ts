import type { Logger } from 'pino'
import type { RecordRead } from './read-record.ts'

/** What a record describes. */
export type RecordKind = 'sandbox' | 'snapshot' | 'volume' | 'template' | 'build'

export interface UnreadableRecord {
  readonly kind: RecordKind
  /** Of the object: the name of its folder. */
  readonly id: string
  /** Of the record's file. */
  readonly path: string
  /** Why this agent cannot use it. */
  readonly reason: string
  /** When this agent noticed it, RFC 3339. */
  readonly since: string
}

/**
 * The objects whose records this agent cannot read. Nothing that such a record describes, or might refer to, is deleted until
 * an operator has repaired or removed the record.
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

  /** Passes a record on when it can be used; an unreadable one is noted and reported once. */
  take<T>(kind: RecordKind, id: string, read: RecordRead<T>): T | null {
    if (read.state === 'unreadable') this.#note({ kind, id, path: read.path, reason: wordsOf(read.error) })
    else this.#records.delete(keyOf(kind, id))
    return read.state === 'present' ? read.record : null
  }

  forget(kind: RecordKind, id: string): void {
    this.#records.delete(keyOf(kind, id))
  }

  has(kind: RecordKind, id: string): boolean {
    return this.#records.has(keyOf(kind, id))
  }

  /** Ids of one kind. */
  idsOf(kind: RecordKind): string[] {
    return this.all.filter((record) => record.kind === kind).map(({ id }) => id)
  }

  /** Whether every record of these kinds could be read: only then is it known what they refer to. */
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

function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(/\s+/g, ' ').slice(0, 300)
}
