import type pg from 'pg'
import type { Logger } from 'pino'

/** Milliseconds between two rounds. */
const EVERY_MS = 60_000

/** Deletes expired rows. Every control process runs all statements each minute; they are safe to run concurrently. */
export class Sweeps {
  readonly #pool: pg.Pool
  readonly #log: Logger
  readonly #statements: readonly ((pool: pg.Pool) => Promise<unknown>)[]
  readonly #timer: NodeJS.Timeout
  #running: Promise<void>

  constructor(pool: pg.Pool, log: Logger, statements: readonly ((pool: pg.Pool) => Promise<unknown>)[]) {
    this.#pool = pool
    this.#log = log
    this.#statements = statements
    this.#running = this.#sweep()
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#sweep())
    }, EVERY_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #sweep(): Promise<void> {
    for (const statement of this.#statements) {
      await statement(this.#pool).catch((error: unknown) => this.#log.warn({ err: error }, 'sweep put off'))
    }
  }
}
