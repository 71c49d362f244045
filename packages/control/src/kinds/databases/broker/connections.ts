import { databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import pg from 'pg'
import type { Fleet } from '../../../fleet/fleet.ts'
import { outliveBrokenConnections } from '../../../platform/db/outlive-broken-connections.ts'
import type { Seal } from '../../../platform/seal.ts'
import type { DatabaseRow } from '../database-row.ts'
import { openSecrets } from '../secrets.ts'
import { cancelStatement, clientConfig } from '../server-client.ts'
import { QUERY_CANCELED, Refusal } from './refusal.ts'

/** Connections of this process to one database: clients' own are what `max_connections` is for. */
export const PER_DATABASE = 8
/** Databases that connections are kept to; the one asked longest ago loses its own first. */
const MAX_KEPT = 1_000
/** Milliseconds that an unused connection stays open. It counts as activity, so not for long. */
const KEEP_MS = 5_000
/** Milliseconds that a statement may take, where the request does not say. */
export const DEFAULT_TIMEOUT_MS = 30_000
/** The most that a request may say, and what all statements of one transaction may take. */
export const MAX_TIMEOUT_MS = 600_000
/** Milliseconds by which we cancel later than the server does by itself: its own refusal says more. */
export const GRACE_MS = 2_000
/** Milliseconds for a connection to become as new after a request. */
const CLEAN_MS = 5_000

/** How long one request may keep its connection. */
export interface Limits {
  /** Milliseconds from the moment it has the connection. The statements of a tenant cannot change it, as they can `statement_timeout`. */
  readonly limitMs: number
  readonly hangUp: AbortSignal
}

/** Connections to databases as their owners, for SQL over HTTP. */
export class Connections {
  readonly #fleet: Fleet
  readonly #seal: Seal
  readonly #pools = new Map<string, pg.Pool>()

  constructor(fleet: Fleet, seal: Seal) {
    this.#fleet = fleet
    this.#seal = seal
  }

  /**
   * One connection for one request. What the request leaves behind in it (an open transaction, settings, temporary tables) is
   * gone before the next one gets it. When its time is up or its caller hangs up, the server is told to cancel the statement, and
   * the connection ends.
   */
  async use<T>(
    row: DatabaseRow,
    database: string,
    { limitMs, hangUp }: Limits,
    work: (client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    const client = await this.#pool(row, database).connect()
    const deadline = Deadline.after(limitMs, `SQL over HTTP of ${row.id}`, hangUp)
    let isSpoilt = true
    try {
      hangUp.throwIfAborted()
      const result = await deadline.race(work(client))
      isSpoilt = false
      return result
    } catch (error) {
      const isLate = error instanceof DeadlineExceeded
      if (isLate || hangUp.aborted) cancelStatement(this.#fleet, row, client)
      if (isLate) throw new Refusal(408, 'canceling request: it took too long', { code: QUERY_CANCELED })
      // Nobody is there to read it.
      throw hangUp.aborted ? new Refusal(400, 'the caller hung up') : error
    } finally {
      void clean(client, isSpoilt)
    }
  }

  /** What was kept for it opens it no more. */
  forget(id: string): void {
    for (const [key, pool] of this.#pools) {
      if (!key.startsWith(id)) continue
      this.#pools.delete(key)
      void pool.end()
    }
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map((pool) => pool.end()))
  }

  #pool(row: DatabaseRow, database: string): pg.Pool {
    // Of these credentials on this agent.
    const key = `${row.id} ${row.agent_id} ${row.broker_token_sha256.toString('hex')} ${database}`
    const pool = this.#pools.get(key) ?? this.#open(row, database)
    this.#pools.delete(key)
    this.#pools.set(key, pool)
    const [oldest] = this.#pools
    if (this.#pools.size > MAX_KEPT && oldest !== undefined) {
      this.#pools.delete(oldest[0])
      void oldest[1].end()
    }
    return pool
  }

  #open(row: DatabaseRow, database: string): pg.Pool {
    if (row.agent_id === null) throw new ApiError('sandboxNotRunning')
    const { password } = openSecrets(this.#seal, row.secrets)
    const pool = new pg.Pool({
      ...clientConfig(this.#fleet, row, { user: databaseUser(row.id), password, database }),
      max: PER_DATABASE,
      idleTimeoutMillis: KEEP_MS,
      options: `-c statement_timeout=${DEFAULT_TIMEOUT_MS}`,
    })
    // A connection that breaks while nobody uses it: the next request gets another.
    pool.on('error', () => undefined)
    // Or while it is in use: a database may be deleted, or its server be killed by its owner, at any moment.
    outliveBrokenConnections(pool)
    return pool
  }
}

/** @param isSpoilt whether its request failed: then it is not worth finding out in which state it is */
async function clean(client: pg.PoolClient, isSpoilt: boolean): Promise<void> {
  try {
    if (!isSpoilt) await Deadline.after(CLEAN_MS, 'a clean connection').race(discardAll(client))
    client.release(isSpoilt)
  } catch {
    client.release(true)
  }
}

/** It refuses to be part of a transaction, which is seldom left open. */
async function discardAll(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('discard all')
  } catch {
    await client.query('rollback')
    await client.query('discard all')
  }
}
