import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'

export interface PeriodicWork {
  /** For the log. */
  readonly what: string
  /** Milliseconds between the end of one run and the next. */
  readonly everyMs: number
  /** It may be interrupted at any point. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
}

/**
 * Refreshes periodically what this process has in its memory. Every process does, so this is no job. A failure is logged,
 * and the next run tries again.
 */
export class Periodic {
  readonly #work: PeriodicWork
  readonly #log: Logger
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>

  constructor(work: PeriodicWork, log: Logger) {
    this.#work = work
    this.#log = log
    this.#running = this.#loop()
  }

  stop(): void {
    this.#stopped.abort()
  }

  async finished(): Promise<void> {
    await this.#running
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopped
    const { what, everyMs, run } = this.#work
    while (!signal.aborted) {
      await run(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#log.warn({ err: error }, `${what} failed: trying again later`)
      })
      await delay(everyMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
