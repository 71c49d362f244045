import { databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import pg from 'pg'
import type { Fleet } from '../../../fleet/fleet.ts'
import { outliveBrokenConnections } from '../../../platform/db/outlive-broken-connections.ts'
import type { Seal } from '../../../platform/seal.ts'
import type { DatabaseRow } from '../database-row.ts'
import { openSecrets } from '../secrets.ts'
import { clientConfig } from '../server-client.ts'

/** Connections of this process to one database: clients' own are what `max_connections` is for. */
const PER_DATABASE = 8
/** Databases that connections are kept to; the one asked longest ago loses its own first. */
const MAX_KEPT = 1_000
/** Milliseconds that an unused connection stays open. It counts as activity, so not for long. */
const KEEP_MS = 5_000
/** Milliseconds that a statement may take, where the request does not say. */
export const DEFAULT_TIMEOUT_MS = 30_000

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
   * gone before the next one gets it.
   */
  async use<T>(row: DatabaseRow, database: string, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool(row, database).connect()
    let isSpoilt = true
    try {
      const result = await work(client)
      isSpoilt = false
      return result
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
    if (!isSpoilt) await discardAll(client)
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
