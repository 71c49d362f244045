import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { claimDeployments, stillWanted } from '../deployments/deployment-statements.ts'

/** Milliseconds between two looks for what waits, and for what is not wanted any more. */
const LOOK_MS = 500
/** Reason of an abort after which nothing more is written: it is not ours any more. */
export const ENDING = 'ending'
/** Deployments that one process works on at the same time. */
const MAX_AT_ONCE = 8

export interface DeployerOptions {
  readonly pool: pg.Pool
  /** Whose number tells this process from the others. */
  readonly lock: { readonly number: number }
  readonly log: Logger
  /** Whether any agent can be asked: for a moment after a start none is known. */
  readonly isReady: () => boolean
}

/** Brings one deployment to its end. Does not fail; an abort with the reason `ending` leaves it to whoever takes it up next. */
export type RunDeployment = (row: DeploymentRow, creator: number, cancelled: AbortSignal) => Promise<void>

interface Running {
  readonly creator: number
  readonly cancel: AbortController
  readonly over: Promise<void>
}

/**
 * Takes up deployments, in every control process: each claims them in the database, so that no two work on the same. What a process
 * leaves behind when it ends, or dies, another takes up within a moment.
 */
export class Deployer {
  readonly #options: DeployerOptions
  readonly #stopped = new AbortController()
  readonly #running = new Map<string, Running>()
  #woken = Promise.withResolvers<void>()
  #loop: Promise<void> = Promise.resolve()

  constructor(options: DeployerOptions) {
    this.#options = options
  }

  start(run: RunDeployment): void {
    this.#loop = this.#work(run)
  }

  /** Something waits, or was cancelled: another look now, not in a moment. */
  soon(): void {
    this.#woken.resolve()
  }

  /** What is under way is left to another process. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    for (const { cancel } of this.#running.values()) cancel.abort(ENDING)
    await this.#loop
    await Promise.all([...this.#running.values()].map(({ over }) => over))
  }

  async #work(run: RunDeployment): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      this.#woken = Promise.withResolvers<void>()
      try {
        await this.#cancelUnwanted()
        await this.#takeUp(run)
      } catch (error) {
        this.#options.log.warn({ err: error }, 'deployments: put off')
      }
      const pause = new AbortController()
      const next = delay(LOOK_MS, undefined, { signal: AbortSignal.any([signal, pause.signal]) }).catch(() => undefined)
      await Promise.race([next, this.#woken.promise])
      pause.abort()
    }
  }

  async #takeUp(run: RunDeployment): Promise<void> {
    const { pool, lock } = this.#options
    const free = MAX_AT_ONCE - this.#running.size
    if (free <= 0 || !this.#options.isReady()) return
    const creator = lock.number
    for (const row of await claimDeployments(pool, free, creator)) this.#begin(run, row, creator)
  }

  #begin(run: RunDeployment, row: DeploymentRow, creator: number): void {
    // One that we lost our hold on, and have taken up anew.
    this.#running.get(row.id)?.cancel.abort(ENDING)
    const cancel = new AbortController()
    const over = run(row, creator, cancel.signal)
      .catch((error: unknown) =>
        this.#options.log.error({ err: error, deployment: row.id }, 'deployment left as it is'),
      )
      .finally(() => {
        if (this.#running.get(row.id)?.cancel === cancel) this.#running.delete(row.id)
        this.soon()
      })
    this.#running.set(row.id, { creator, cancel, over })
  }

  /** Cancelled, its app deleted, or another's since we lost the lock that says we live. */
  async #cancelUnwanted(): Promise<void> {
    const { pool, lock } = this.#options
    if (this.#running.size === 0) return
    const wanted = new Set((await stillWanted(pool, [...this.#running.keys()], lock.number)).map(({ id }) => id))
    for (const [id, { cancel, creator }] of this.#running) {
      if (!wanted.has(id)) cancel.abort(creator === lock.number ? undefined : ENDING)
    }
  }
}
