import type pg from 'pg'
import type { Logger } from 'pino'
import { touchApiKeys } from './api-key-statements.ts'

/**
 * `last_used_at` has a precision of one minute. So a busy key costs one write a minute, and no request waits for it.
 */
const PRECISION_MS = 60_000
const FLUSH_MS = 1_000

/** Collects the keys that were used and writes them once a second. */
export class KeyUsage {
  readonly #pool: pg.Pool
  readonly #log: Logger
  readonly #timer: NodeJS.Timeout
  #used = new Set<string>()
  #writing: Promise<void> = Promise.resolve()

  constructor(pool: pg.Pool, log: Logger) {
    this.#pool = pool
    this.#log = log
    this.#timer = setInterval(() => {
      this.#writing = this.#writing.then(() => this.#flush())
    }, FLUSH_MS)
  }

  note(prefix: string, lastUsedAt: Date | null): void {
    if (lastUsedAt === null || Date.now() - lastUsedAt.getTime() > PRECISION_MS) this.#used.add(prefix)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.#flush()
  }

  async #flush(): Promise<void> {
    if (this.#used.size === 0) return
    const prefixes = [...this.#used]
    this.#used = new Set()
    await touchApiKeys(this.#pool, prefixes).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'last_used_at not written')
    })
  }
}
