import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { claimDeployments, stillWanted } from '../deployments/deployment-statements.ts'

/** Milliseconds between two polls for queued and for cancelled deployments. */
const LOOK_MS = 500
/** Abort reason: this process lost the deployment's lease and must not write to it again. */
export const ENDING = 'ending'
/** Deployments that one process works on at the same time. */
const MAX_AT_ONCE = 8

export interface DeployerOptions {
  readonly pool: pg.Pool
  /** Its number distinguishes this process from the others. */
  readonly lock: { readonly number: number }
  readonly log: Logger
  /** Whether any agent is known. For a moment after the start none is. */
  readonly isReady: () => boolean
}

/**
 * Runs one deployment to its end and never rejects. An abort with the reason `ending` leaves the deployment to the next
 * process.
 */
export type RunDeployment = (row: DeploymentRow, creator: number, cancelled: AbortSignal) => Promise<void>

interface Running {
  readonly creator: number
  readonly cancel: AbortController
  readonly over: Promise<void>
}

/**
 * Runs deployments. Every control process has one; each deployment is claimed in the database, so that only one process
 * works on it. When a process ends or dies, another one continues its deployments within moments.
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

  /** Polls at once, because a deployment was queued or cancelled. */
  soon(): void {
    this.#woken.resolve()
  }

  /** Leaves running deployments to other processes. */
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
    // This process lost its claim and has claimed the deployment again, so it stops the first run.
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

  /**
   * Stops deployments that were cancelled or whose app was deleted, and those that another process took over after this
   * one lost its lock.
   */
  async #cancelUnwanted(): Promise<void> {
    const { pool, lock } = this.#options
    if (this.#running.size === 0) return
    const wanted = new Set((await stillWanted(pool, [...this.#running.keys()], lock.number)).map(({ id }) => id))
    for (const [id, { cancel, creator }] of this.#running) {
      if (!wanted.has(id)) cancel.abort(creator === lock.number ? undefined : ENDING)
    }
  }
}
