import pg from 'pg'
import { type Database, options } from '../../setup/database.ts'
import { until } from '../../setup/until.ts'
import { type ClientContext, type FleetClient, answered, READABLE_MS } from './sandbox-client.ts'

const CONNECT_MS = 20_000

/**
 * Commits to a database through the edges. Each commit says which server made it, by the time at which that was started:
 * no server commits after its successor.
 */
export class DatabaseClient implements FleetClient {
  readonly #context: ClientContext
  #database: Database | null = null
  #isReady = false
  /** Servers that have acknowledged commits, the newest last. */
  readonly #servers: string[] = []

  constructor(context: ClientContext) {
    this.#context = context
  }

  async step(): Promise<void> {
    const { fleet, history, random } = this.#context
    if (this.#database === null) {
      const answer = await answered(fleet.ask('POST', '/v1/databases', {}))
      history.note(`database: create: ${answer?.status ?? 'no answer'} ${answer?.status === 201 ? '' : answer?.text}`)
      if (answer?.status === 201) this.#database = answer.body as Database
      return
    }
    if (!this.#isReady) {
      const made = await this.#query('create table if not exists list (id serial primary key, value text unique)')
      this.#isReady = made !== null
      return
    }
    await (random.fraction() < 0.75 ? this.#append() : this.#read())
  }

  async examine(): Promise<void> {
    if (!this.#isReady) return
    const { history } = this.#context
    await until('the database to be read', () => this.#read(), READABLE_MS, 500).catch((error: Error) =>
      history.flaw(error.message),
    )
  }

  async clear(): Promise<void> {
    if (this.#database !== null) await this.#context.fleet.ask('DELETE', `/v1/databases/${this.#database.id}`)
  }

  async #append(): Promise<void> {
    const { history } = this.#context
    const value = history.newValue()
    await history.append('database', value, async () => {
      const rows = await this.#query(
        `insert into list (value) values ('${value}') returning pg_postmaster_start_time()::text as server`,
      )
      if (rows === null) return 'unknown'
      this.#commitBy(String(rows[0]?.['server']))
      return 'acknowledged'
    })
  }

  async #read(): Promise<boolean> {
    return this.#context.history.read('database', async () => {
      const rows = await this.#query('select value from list order by id')
      return rows?.map(({ value }) => String(value)) ?? null
    })
  }

  #commitBy(server: string): void {
    if (this.#servers.at(-1) === server) return
    if (this.#servers.includes(server))
      this.#context.history.flaw(`the database's server of ${server} commits after that of ${this.#servers.at(-1)}`)
    this.#servers.push(server)
  }

  /** @returns the rows; `null`: nobody knows what became of it */
  async #query(text: string): Promise<Record<string, unknown>[] | null> {
    const { connection_url: url = '' } = this.#database ?? {}
    const client = new pg.Client({ ...options(url), connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return (await client.query(text)).rows as Record<string, unknown>[]
    } catch (error) {
      this.#context.history.note(`database: ${(error as Error).message}`)
      return null
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}
