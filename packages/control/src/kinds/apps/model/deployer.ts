import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { DeploymentRow } from './deployment-row.ts'
import { claimDeployments, hasOpenDeployments, stillWanted } from './deployment-statements.ts'

/** Milliseconds between two looks for queued and for cancelled deployments. */
const LOOK_MS = 500
/** The same for a process that runs as many as it may: long, so that others look before it does. */
const FULL_LOOK_MS = 6_000
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
  #watching: Promise<void> | null = null

  constructor(options: DeployerOptions) {
    this.#options = options
  }

  /**
   * Claims and starts what is waiting, and what a process that has ended was working on.
   * @returns milliseconds until the next look; `null` if no deployment is open
   */
  async look(run: RunDeployment): Promise<number | null> {
    const { pool, lock, isReady } = this.#options
    const free = MAX_AT_ONCE - this.#running.size
    if (free > 0 && isReady() && !this.#stopped.signal.aborted) {
      const creator = lock.number
      for (const row of await claimDeployments(pool, free, creator)) this.#begin(run, row, creator)
    }
    if ((await hasOpenDeployments(pool))[0]?.found !== true) return null
    return free > 0 ? LOOK_MS : FULL_LOOK_MS
  }

  /** Looks at once for deployments of this process that were cancelled. */
  soon(): void {
    void this.#cancelUnwanted().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'deployments not cancelled: trying again later'),
    )
  }

  /** Leaves running deployments to other processes. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    for (const { cancel } of this.#running.values()) cancel.abort(ENDING)
    await Promise.all([...this.#running.values()].map(({ over }) => over))
    await this.#watching
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopped
    while (this.#running.size > 0 && !signal.aborted) {
      await this.#cancelUnwanted().catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'deployments not cancelled: trying again later')
      })
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
    this.#watching = null
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
      })
    this.#running.set(row.id, { creator, cancel, over })
    this.#watching ??= this.#watch()
  }

  /**
   * Stops deployments that were cancelled or whose app was deleted, and those that another process took over after this
   * one lost its lock.
   */
  async #cancelUnwanted(): Promise<void> {
    const { pool, lock } = this.#options
    // A deployment that begins during the query is not in its result.
    const running = [...this.#running]
    if (running.length === 0) return
    const ids = running.map(([id]) => id)
    const wanted = new Set((await stillWanted(pool, ids, lock.number)).map(({ id }) => id))
    for (const [id, { cancel, creator }] of running) {
      if (!wanted.has(id)) cancel.abort(creator === lock.number ? undefined : ENDING)
    }
  }
}
