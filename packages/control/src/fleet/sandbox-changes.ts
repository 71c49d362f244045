import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Logger } from 'pino'
import { tellChangedSandboxes, tellEverything } from './agent-statements.ts'

/** Milliseconds for which changes are collected. Nobody notices them, and a busy agent sends many records in them. */
const COLLECT_MS = 25
const RETRY_MS = 1_000

/**
 * Tells followers of `GET /v1/changes` which sandboxes the records of agents have changed. It does so after the
 * transactions of the records, for many of them at once, because a notification in each would cost a fifteenth of the
 * records (docs/adr/0040-changes.md).
 */
export class SandboxChanges {
  readonly #pool: pg.Pool
  readonly #log: Logger
  #ids = new Set<string>()
  #timer: NodeJS.Timeout | null = null

  constructor(pool: pg.Pool, log: Logger) {
    this.#pool = pool
    this.#log = log
  }

  add(sandboxIds: Iterable<string>): void {
    for (const id of sandboxIds) if (isUuid(id)) this.#ids.add(id)
    if (this.#ids.size > 0) this.#timer ??= setTimeout(() => void this.#tell(), COLLECT_MS).unref()
  }

  /** The process that applied records before may have ended before it told of their changes. */
  async addEverything(): Promise<void> {
    await tellEverything(this.#pool)
  }

  /** Tells what was collected. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#tell()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  async #tell(): Promise<void> {
    this.#timer = null
    const ids = [...this.#ids]
    this.#ids = new Set()
    if (ids.length === 0) return
    try {
      await tellChangedSandboxes(this.#pool, ids)
    } catch (error) {
      this.#log.warn({ err: error }, 'changes of sandboxes not told: trying again')
      for (const id of ids) this.#ids.add(id)
      this.#timer = setTimeout(() => void this.#tell(), RETRY_MS).unref()
    }
  }
}
