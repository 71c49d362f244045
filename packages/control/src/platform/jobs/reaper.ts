import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'

/** Concurrent removals. */
const MAX_AT_ONCE = 64
/** Seconds until the next attempt after a failed removal. */
export const RETRY_SECONDS = 5
/** Seconds for which a claim holds. No removal may take longer. */
export const LEASE_SECONDS = 150

/** The rows that a {@link Reaper} removes, and how. */
export interface Reaping<Row extends { readonly id: string }> {
  /** For the log. */
  readonly what: string
  /** Milliseconds between two polls. */
  readonly everyMs: number
  /** Claims due rows for {@link LEASE_SECONDS}, so that no other process claims them. */
  readonly claim: (limit: number) => Promise<readonly Row[]>
  readonly remove: (row: Row, requestId: string) => Promise<void>
  /** Releases the row, so that any process can claim it after the delay. */
  readonly retry: (id: string, afterSeconds: number) => Promise<unknown>
}

/**
 * Removes due objects. Every control process runs one; each claims rows in the database, so no object is removed by two
 * processes. A failed removal is due again after {@link RETRY_SECONDS}. The claims of a dead process expire with their
 * lease.
 */
export class Reaper<Row extends { readonly id: string }> {
  readonly #reaping: Reaping<Row>
  readonly #log: Logger
  readonly #stopped = new AbortController()
  readonly #removals = new Set<Promise<void>>()
  readonly #running: Promise<void>

  constructor(reaping: Reaping<Row>, log: Logger) {
    this.#reaping = reaping
    this.#log = log
    this.#running = this.#run()
  }

  /** Stops claiming. {@link finished} waits for the removals in progress. */
  stop(): void {
    this.#stopped.abort()
  }

  async finished(): Promise<void> {
    await this.#running
    await Promise.all(this.#removals)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    const { what, everyMs } = this.#reaping
    while (!signal.aborted) {
      await this.#reap().catch((error: unknown) => this.#log.warn({ err: error }, `${what}: put off`))
      // At full capacity more rows may be due, so continue as soon as one removal ends.
      const next = delay(everyMs, undefined, { signal }).catch(() => undefined)
      await (this.#removals.size < MAX_AT_ONCE ? next : Promise.race([...this.#removals, next]))
    }
  }

  async #reap(): Promise<void> {
    for (const row of await this.#reaping.claim(MAX_AT_ONCE - this.#removals.size)) {
      const removal = this.#remove(row).finally(() => this.#removals.delete(removal))
      this.#removals.add(removal)
    }
  }

  async #remove(row: Row): Promise<void> {
    const { what, remove, retry } = this.#reaping
    const line = { id: row.id, req_id: randomUUID() }
    try {
      await remove(row, line.req_id)
      this.#log.info(line, what)
    } catch (error) {
      this.#log.warn({ ...line, err: error }, `${what}: failed`)
      await retry(row.id, RETRY_SECONDS).catch((err: unknown) => this.#log.warn({ ...line, err }, `${what}: leased`))
    }
  }
}
