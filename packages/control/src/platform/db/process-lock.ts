import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseAddress } from '@offshoot/contract/database-address'
import { Client, type QueryResult } from 'pg'
import { clientConfig } from './database.ts'

/** Milliseconds after which PostgreSQL releases the locks of a process of which it hears nothing. */
const LEASE_MS = 30_000
/** Renewals that fit into one lease. */
const RENEWALS = 6

/** All locks of one connection. */
export interface HeldLocks {
  /** Aborts when the connection has ended. */
  readonly lost: AbortSignal
}

/**
 * Tells the control processes of one database apart.
 *
 * Each process draws a number and holds an advisory lock of that number on a connection of its own. PostgreSQL releases
 * the lock as soon as the process ends, however it ends. The lock is also a lease: PostgreSQL ends the connection if the
 * process is stopped or cut off and does not renew. The process gives the connection up earlier, after half of the
 * lease without an answer (docs/adr/0049-several-processes.md). A row stores the number of the process that creates it,
 * so other processes can see whether its creator is alive. The same connection holds the locks by which only one
 * process at a time follows an agent.
 *
 * When the connection breaks, all its locks are lost, and the process connects again with a new number. Work that still
 * runs under a lost lock may be done twice, but stays correct: the cursor, not the lock, guarantees that each record is
 * applied once.
 */
export class ProcessLock {
  /** First key of the two-part advisory locks: "offs" and "offa" in ASCII. */
  static readonly PROCESS = 0x6f_66_66_73
  static readonly AGENT = 0x6f_66_66_61

  readonly #address: DatabaseAddress
  readonly #leaseMs: number
  readonly #stopped = new AbortController()
  #client: Client | null = null
  #held: HeldLocks | null = null
  #number = 0
  /** Settles when the connection is free for the next statement. */
  #free: Promise<unknown> = Promise.resolve()

  private constructor(address: DatabaseAddress, leaseMs: number) {
    this.#address = address
    this.#leaseMs = leaseMs
  }

  static async take(address: DatabaseAddress, leaseMs = LEASE_MS): Promise<ProcessLock> {
    const lock = new ProcessLock(address, leaseMs)
    await lock.#connect()
    return lock
  }

  /** This process's number, as rows store it in `creator`. */
  get number(): number {
    return this.#number
  }

  /**
   * The locks; `null` while there are none. A restored database may give a process the number that it had before, so
   * only this object tells whether it held its locks all the time.
   */
  get held(): HeldLocks | null {
    return this.#held
  }

  /** Whether this process may follow the agent now. It may until {@link stopLeading}, or until the connection ends. */
  async tryLead(agentId: string): Promise<boolean> {
    const client = this.#client
    if (client === null) return false
    const { rows } = await this.#query(
      client,
      `select exists (
         select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
           and classid = $1::int::oid and objid = (hashtext($2)::bigint & 4294967295)::oid and granted
       ) or pg_try_advisory_lock($1::int, hashtext($2)) as leads`,
      [ProcessLock.AGENT, agentId],
    )
    return rows[0]?.leads === true
  }

  /** Lets another process follow the agent. */
  async stopLeading(agentId: string): Promise<void> {
    const client = this.#client
    if (client === null) return
    await this.#query(client, 'select pg_advisory_unlock($1::int, hashtext($2))', [ProcessLock.AGENT, agentId])
  }

  async release(): Promise<void> {
    this.#stopped.abort()
    await this.#client?.end()
  }

  #query(client: Client, text: string, values: unknown[] = []): Promise<QueryResult> {
    const answered = this.#free.then(() => client.query(text, values))
    this.#free = answered.catch(() => undefined)
    return answered
  }

  async #connect(): Promise<void> {
    const client = new Client({ ...clientConfig(this.#address), query_timeout: this.#leaseMs / 2 })
    // Without a listener for "error", a broken connection would end the process. The handler of "end" reconnects.
    client.on('error', () => undefined)
    await client.connect()
    await client.query(`select set_config('idle_session_timeout', $1, false)`, [`${this.#leaseMs}ms`])
    const { rows } = await client.query(
      `select number, pg_advisory_lock($1, number) from (select nextval('control_process_numbers')::int as number) n`,
      [ProcessLock.PROCESS],
    )
    this.#number = rows[0].number
    this.#client = client
    const lost = new AbortController()
    this.#held = { lost: lost.signal }
    const end = () => void client.end().catch(() => undefined)
    let isRenewing = false
    // One at a time, and none after a failure: it waits for the statements before it, which renew the lease as well. All
    // that wait fail together, and each end of the connection would wait for its close.
    const renew = async () => {
      if (isRenewing) return
      isRenewing = true
      await this.#query(client, 'select 1')
      isRenewing = false
    }
    const renewing = setInterval(() => void renew().catch(end), this.#leaseMs / RENEWALS)
    client.once('end', () => {
      clearInterval(renewing)
      this.#client = null
      this.#held = null
      lost.abort(new Error('the process has lost its locks'))
      if (!this.#stopped.signal.aborted) void this.#reconnect()
    })
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#stopped
    for (let waitMs = 50; !signal.aborted; waitMs = Math.min(1_000, waitMs * 2)) {
      const isConnected = await this.#connect().then(
        () => true,
        () => false,
      )
      if (isConnected) return
      await delay(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
