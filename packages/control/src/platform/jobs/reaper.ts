import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'

/** Removals under way at once. */
const MAX_AT_ONCE = 64
/** Seconds until another try, when the agent could not do it. */
export const RETRY_SECONDS = 5
/** Seconds a claim holds: longer than any removal may take. */
export const LEASE_SECONDS = 150

/** What a {@link Reaper} removes. */
export interface Reaping<Row extends { readonly id: string }> {
  /** For the log. */
  readonly what: string
  /** Milliseconds between two looks. */
  readonly everyMs: number
  /** Takes what is due from all other processes for {@link LEASE_SECONDS}. */
  readonly claim: (limit: number) => Promise<readonly Row[]>
  readonly remove: (row: Row, requestId: string) => Promise<void>
  /** Gives it back, to be claimed again by anyone. */
  readonly retry: (id: string, afterSeconds: number) => Promise<unknown>
}

/**
 * Removes what is due, in every control process: each claims a few in the database, so that none is removed by two.
 * What could not be removed is due again a moment later; what a process had claimed when it died, when the lease runs out.
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

  /** Claims no more; what is being removed is waited for with {@link finished}. */
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
      // With all hands full there may be more that is due: on as soon as one is free.
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
