import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Logger } from 'pino'
import { tellChangedSandboxes, tellEverything } from './agent-statements.ts'

/** Milliseconds between two notifications. A person does not notice them, and busy agents send many records in them. */
const EVERY_MS = 100
const RETRY_MS = 1_000

/**
 * Tells followers of `GET /v1/changes` which sandboxes the records of agents have changed. It does so after the
 * transactions of the records, for many of them at once, because a notification in each would slow
 * them down (docs/adr/0040-changes.md).
 */
export class SandboxChanges {
  readonly #pool: pg.Pool
  readonly #log: Logger
  #ids = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #telling: Promise<void> = Promise.resolve()
  #toldAtMs = Number.NEGATIVE_INFINITY

  constructor(pool: pg.Pool, log: Logger) {
    this.#pool = pool
    this.#log = log
  }

  add(sandboxIds: Iterable<string>): void {
    for (const id of sandboxIds) if (isUuid(id)) this.#ids.add(id)
    if (this.#ids.size === 0 || this.#timer !== null) return
    const waitMs = Math.max(0, this.#toldAtMs + EVERY_MS - performance.now())
    this.#tellIn(waitMs)
  }

  /** The process that applied records before may have ended before it told of their changes. */
  async addEverything(): Promise<void> {
    await tellEverything(this.#pool)
  }

  /** Notifies of the sandboxes that it has collected, and then stops. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#telling
    await this.#tell()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #tellIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#telling = this.#tell()
    }, ms).unref()
  }

  async #tell(): Promise<void> {
    this.#timer = null
    this.#toldAtMs = performance.now()
    const ids = [...this.#ids]
    this.#ids = new Set()
    if (ids.length === 0) return
    try {
      await tellChangedSandboxes(this.#pool, ids)
    } catch (error) {
      this.#log.warn({ err: error }, 'changes of sandboxes not told: trying again')
      for (const id of ids) this.#ids.add(id)
      if (this.#timer === null) this.#tellIn(RETRY_MS)
    }
  }
}
