import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from 'pino'
import { runFor } from '../../../platform/db/tenant-pool.ts'
import { workspacesWithEvents } from './event-statements.ts'

/** Milliseconds between two looks for new events, while somebody follows any. */
const LOOK_MS = 250

/**
 * Tells those who follow the events of a workspace that there may be new ones. One query per process looks for all of
 * them, and none runs while nobody follows. Followers read the events themselves, each from its own position.
 *
 * idle → first follower → looks each {@link LOOK_MS} → last follower gone → idle
 */
export class EventFeed {
  readonly #pool: pg.Pool
  readonly #log: Logger
  readonly #followers = new Map<string, Set<() => void>>()
  readonly #stopped = new AbortController()
  #running: Promise<void> | null = null
  /** The oldest transaction whose events were not looked for; `null`: none was. */
  #xid: string | null = null

  constructor(pool: pg.Pool, log: Logger) {
    this.#pool = pool
    this.#log = log
  }

  /**
   * Calls `wake` after each new event of the workspace, and sometimes without one.
   * @returns a function that ends this
   */
  listen(workspaceId: string, wake: () => void): () => void {
    const followers = this.#followers.get(workspaceId) ?? new Set()
    this.#followers.set(workspaceId, followers.add(wake))
    // The follower's tenant must not pay for everybody's queries.
    this.#running ??= runFor({ tenant: null }, () => this.#run())
    return () => {
      followers.delete(wake)
      if (followers.size === 0 && this.#followers.get(workspaceId) === followers) this.#followers.delete(workspaceId)
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted && this.#followers.size > 0) {
      await this.#look().catch((error: unknown) => this.#log.warn({ err: error }, 'no look for events: trying again'))
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
    this.#xid = null
    this.#running = null
  }

  async #look(): Promise<void> {
    const before = this.#xid
    const [found] = await workspacesWithEvents(this.#pool, before)
    if (found === undefined) return
    this.#xid = found.xid
    // A follower may have read before the first look, so that nobody has looked for what came between.
    const woken = before === null ? this.#followers.keys() : found.workspaces
    for (const workspaceId of woken) for (const wake of this.#followers.get(workspaceId) ?? []) wake()
  }
}
