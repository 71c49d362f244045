import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { clientConfig, type DatabaseAddress } from './database.ts'

/**
 * Tells the control processes of one database apart.
 *
 * Each process draws a number and holds an advisory lock of that number on a connection of its own. PostgreSQL releases
 * the lock as soon as the process ends, however it ends. A row stores the number of the process that creates it, so
 * other processes can see whether its creator is alive. The same connection holds the locks by which only one process
 * at a time follows an agent.
 *
 * When the connection breaks, all its locks are lost, and the process connects again with a new number. Work that runs
 * under a lost lock may be done twice, but stays correct: the cursor, not the lock, guarantees that each record is
 * applied once.
 */
export class ProcessLock {
  /** First key of the two-part advisory locks: "offs" and "offa" in ASCII. */
  static readonly PROCESS = 0x6f_66_66_73
  static readonly AGENT = 0x6f_66_66_61

  readonly #address: DatabaseAddress
  readonly #stopped = new AbortController()
  #client: Client | null = null
  #number = 0

  private constructor(address: DatabaseAddress) {
    this.#address = address
  }

  static async take(address: DatabaseAddress): Promise<ProcessLock> {
    const lock = new ProcessLock(address)
    await lock.#connect()
    return lock
  }

  /** This process's number, as rows store it in `creator`. */
  get number(): number {
    return this.#number
  }

  /**
   * Stands for the connection that holds the locks; `null` while there is none. A restored database may give a process
   * the number that it had before, so only this tells whether it held its locks all the time.
   */
  get held(): object | null {
    return this.#client
  }

  /** Whether this process may follow the agent now. Once true, it stays true for as long as the connection lives. */
  async tryLead(agentId: string): Promise<boolean> {
    const client = this.#client
    if (client === null) return false
    const { rows } = await client.query(
      `select exists (
         select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
           and classid = $1::int::oid and objid = (hashtext($2)::bigint & 4294967295)::oid and granted
       ) or pg_try_advisory_lock($1::int, hashtext($2)) as leads`,
      [ProcessLock.AGENT, agentId],
    )
    return rows[0]?.leads === true
  }

  async release(): Promise<void> {
    this.#stopped.abort()
    await this.#client?.end()
  }

  async #connect(): Promise<void> {
    const client = new Client(clientConfig(this.#address))
    // Without a listener for "error", a broken connection would end the process. The handler of "end" reconnects.
    client.on('error', () => undefined)
    await client.connect()
    const { rows } = await client.query(
      `select number, pg_advisory_lock($1, number) from (select nextval('control_process_numbers')::int as number) n`,
      [ProcessLock.PROCESS],
    )
    this.#number = rows[0].number
    this.#client = client
    client.once('end', () => {
      this.#client = null
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
