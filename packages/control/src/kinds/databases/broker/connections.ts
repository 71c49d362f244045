import { databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import pg from 'pg'
import type { Fleet } from '../../../fleet/fleet.ts'
import { outliveBrokenConnections } from '../../../platform/db/outlive-broken-connections.ts'
import type { Seal } from '../../../platform/secrets/seal.ts'
import type { DatabaseRow } from '../model/database-row.ts'
import { openSecrets } from '../model/secrets.ts'
import { cancelStatement, clientConfig } from '../model/server-client.ts'
import { QUERY_CANCELED, Refusal } from './refusal.ts'

/** Connections of this process to one database. Few, because `max_connections` is meant for the owner's clients. */
export const PER_DATABASE = 8
/** Databases with open connections. Beyond that, the one with the oldest request loses its connections. */
const MAX_KEPT = 1_000
/** Milliseconds for which an unused connection stays open. Short, because an open connection counts as activity. */
const KEEP_MS = 5_000
/** Milliseconds for a statement, unless the request says otherwise. */
export const DEFAULT_TIMEOUT_MS = 30_000
/** The longest time that a request may ask for, and the limit for all statements of one transaction. */
export const MAX_TIMEOUT_MS = 600_000
/** Milliseconds for which control waits after the server's own timeout, because the server's error says more. */
export const GRACE_MS = 2_000
/**
 * Milliseconds between two checks of the server for a connection that was closed. A cancel request that arrives before
 * its statement has begun has no effect.
 */
const CHECK_MS = 1_000
/** Milliseconds to reset a connection after a request. */
const CLEAN_MS = 5_000

/** Limits for the time that one request may keep its connection. */
export interface Limits {
  /**
   * Milliseconds from the moment when the request gets the connection. Unlike `statement_timeout`, a tenant's
   * statements cannot change it.
   */
  readonly limitMs: number
  readonly hangUp: AbortSignal
}

/** Connections to databases as their owners' roles, for SQL over HTTP. */
export class Connections {
  readonly #fleet: Fleet
  readonly #seal: Seal
  readonly #pools = new Map<string, pg.Pool>()

  constructor(fleet: Fleet, seal: Seal) {
    this.#fleet = fleet
    this.#seal = seal
  }

  /**
   * Uses one connection for one request. Control resets the connection (open transactions, settings, temporary tables)
   * before the next request gets it. After a timeout or when the caller hangs up, control cancels the statement on the
   * server and closes the connection.
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
      // The caller is gone and reads no answer.
      throw hangUp.aborted ? new Refusal(400, 'the caller hung up') : error
    } finally {
      void clean(client, isSpoilt)
    }
  }

  /** Closes the connections to the database, because they use old credentials. */
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
    // The key includes the credentials and the agent, so that a change of either opens a new pool.
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
      options: `-c statement_timeout=${DEFAULT_TIMEOUT_MS} -c client_connection_check_interval=${CHECK_MS}`,
    })
    // The database may be deleted, or its owner may kill the server, at any moment. The next request opens another connection.
    outliveBrokenConnections(pool)
    return pool
  }
}

/** @param isSpoilt whether the request failed. Then the connection is closed, because its state is unknown */
async function clean(client: pg.PoolClient, isSpoilt: boolean): Promise<void> {
  try {
    if (!isSpoilt) await Deadline.after(CLEAN_MS, 'a clean connection').race(discardAll(client))
    client.release(isSpoilt)
  } catch {
    client.release(true)
  }
}

/**
 * `discard all` cannot run inside a transaction. Transactions are seldom left open, so it rolls back only after that
 * error.
 */
async function discardAll(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('discard all')
  } catch {
    await client.query('rollback')
    await client.query('discard all')
  }
}
