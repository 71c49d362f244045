import type { Socket } from 'node:net'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { type Dispatcher, Pool } from 'undici'
import type { Agent } from '../agents/agent.ts'
import { type GuestPort, openPort } from '../agents/open-port.ts'
import { openReleased } from '../agents/open-released.ts'
import { PortRefused } from '../agents/open-upgrade.ts'
import type { SandboxLocations } from '../agents/sandbox-locations.ts'

/** Maximum pools. Beyond it the least recently used one is closed. */
const MAX_POOLS = 2_000
/** Milliseconds that an idle connection stays open. Short, because it counts as activity of its sandbox. */
const KEEP_ALIVE_MS = 4_000
/** Milliseconds after which an unused pool is closed. */
const POOL_IDLE_MS = 10_000
/** Milliseconds until the first byte of an answer. */
const ANSWER_MS = 10 * 60_000
/** Maximum bytes of an answer's head. */
const MAX_HEAD_BYTES = 64 * 1024

/** A lease of a pool for one request. */
export interface TakenPool {
  readonly dispatcher: Dispatcher
  /** Returns a pool with fresh connections only, after a kept connection turned out to be closed. */
  renew(): TakenPool
  /** Call it at the end of the request. */
  done(): void
}

interface Kept {
  readonly pool: Pool
  readonly agent: Agent
  readonly sandboxId: SandboxId
  users: number
  idle: NodeJS.Timeout | undefined
}

export interface GuestPoolsOptions {
  /** Maximum concurrent connections to one port. */
  readonly connections: number
  readonly wakeMs: number
  readonly locations: SandboxLocations
  /** Called if an agent refuses a connection because the sandbox is private. */
  readonly onPrivate: (id: SandboxId) => void
  /** Called if an agent does not have the sandbox. @returns the agent that has it; `null`: none */
  readonly findAgain: (id: SandboxId, signal: AbortSignal) => Promise<Agent | null>
}

/** Keep-alive connections to servers inside sandboxes, one pool per port of a sandbox. */
export class GuestPools {
  readonly #pools = new Map<string, Kept>()
  readonly #connections: number
  readonly #wakeMs: number
  readonly #onPrivate: (id: SandboxId) => void
  readonly #findAgain: GuestPoolsOptions['findAgain']
  readonly #locations: SandboxLocations

  constructor({ connections, wakeMs, locations, onPrivate, findAgain }: GuestPoolsOptions) {
    this.#locations = locations
    this.#connections = connections
    this.#wakeMs = wakeMs
    this.#onPrivate = onPrivate
    this.#findAgain = findAgain
  }

  take(target: GuestPort): TakenPool {
    // Connections for admitted visitors carry no others: the agent ends the others when the sandbox becomes private.
    const key = `${target.sandboxId}:${target.port}${target.isAdmitted === true ? ':admitted' : ''}`
    const before = this.#pools.get(key)
    if (before !== undefined && before.agent !== target.agent) this.#drop(key, before)
    const kept = this.#pools.get(key) ?? this.#open(key, target)
    kept.users += 1
    clearTimeout(kept.idle)
    const done = this.#leave(key, kept)
    const renew = () => {
      done()
      // Drop the pool only once, if several requests notice it at the same time.
      if (this.#pools.get(key) === kept) this.#drop(key, kept)
      return this.take(target)
    }
    return { dispatcher: kept.pool, renew, done }
  }

  /** Closes idle connections, which would otherwise count as activity of replaced sandboxes. */
  letGo(sandboxIds: ReadonlySet<SandboxId>): void {
    for (const [key, kept] of this.#pools) if (sandboxIds.has(kept.sandboxId)) this.#drop(key, kept)
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()]
    for (const { idle } of pools) clearTimeout(idle)
    this.#pools.clear()
    await Promise.all(pools.map(({ pool }) => pool.destroy()))
  }

  #open(key: string, target: GuestPort): Kept {
    const { agent, sandboxId } = target
    const pool = new Pool('http://sandbox', {
      connections: this.#connections,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      headersTimeout: ANSWER_MS,
      // An event stream may be silent for any time.
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEAD_BYTES,
      connect: (_options, callback) => {
        // undici wants a callback.
        // oxlint-disable promise/no-callback-in-promise
        this.#connect(target).then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        )
        // oxlint-enable promise/no-callback-in-promise
      },
    })
    const kept = { pool, agent, sandboxId, users: 0, idle: undefined }
    this.#pools.set(key, kept)
    if (this.#pools.size > MAX_POOLS) this.#dropOldest()
    return kept
  }

  /** If the agent does not have the sandbox any more, it may have moved to another one. Nothing was sent to it yet. */
  async #connect(target: GuestPort): Promise<Socket> {
    const { agent, sandboxId, port } = target
    const deadline = Deadline.after(this.#wakeMs, `port ${port} of ${sandboxId}`)
    try {
      return await openReleased(this.#locations, target, (now) => openPort({ ...target, agent: now }, deadline))
    } catch (error) {
      if (!(error instanceof PortRefused)) throw error
      if (error.status === 403) this.#onPrivate(sandboxId)
      const now = error.status === 404 ? await this.#findAgain(sandboxId, deadline.signal) : null
      if (now === null || now === agent) throw error
      return openPort({ ...target, agent: now }, deadline)
    }
  }

  #leave(key: string, kept: Kept): () => void {
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      kept.users -= 1
      if (this.#pools.get(key) !== kept) return
      // The map is ordered by last use.
      this.#pools.delete(key)
      this.#pools.set(key, kept)
      if (kept.users === 0) kept.idle = setTimeout(() => this.#drop(key, kept), POOL_IDLE_MS).unref()
    }
  }

  #dropOldest(): void {
    for (const [key, kept] of this.#pools) {
      if (kept.users > 0) continue
      this.#drop(key, kept)
      return
    }
  }

  /** Running requests finish. */
  #drop(key: string, kept: Kept): void {
    clearTimeout(kept.idle)
    this.#pools.delete(key)
    void kept.pool.close().catch(() => undefined)
  }
}
