import pg from 'pg'
import { type Database, options } from '../../setup/database.ts'
import { until } from '../../setup/until.ts'
import { type ClientContext, type FleetClient, answered, READABLE_MS } from './sandbox-client.ts'

const CONNECT_MS = 20_000
/** Milliseconds for a database to come back on another host. */
const RECOVERED_MS = 300_000
/** Milliseconds of commits that may be lost: a minute in the server, and what faults before have delayed. */
const MOST_LOST_MS = 180_000

interface Row {
  /** When the server was started, and its present time, in milliseconds since 1970. */
  readonly server: string
  readonly now: number
  readonly values?: readonly string[]
}

const SERVER = `pg_postmaster_start_time()::text as server, (extract(epoch from clock_timestamp()) * 1000)::float8 as now`

/**
 * Commits to a database through the edges. Each commit says which server made it, by the time at which that was started:
 * no server commits after its successor. A database that comes back after its host was lost has everything that was
 * committed before `recovered_until`, by the clock of its server.
 */
export class DatabaseClient implements FleetClient {
  readonly #context: ClientContext
  #database: Database | null = null
  #isReady = false
  #isBackedUp = false
  #recoveredAt: string | null = null
  /** Servers that have answered, the newest last. */
  readonly #servers: string[] = []
  /** The latest time of each commit, by the clock of its server. */
  readonly #committedAt = new Map<string, number>()

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
    if (!this.#isBackedUp) await this.#backUp()
    await (random.fraction() < 0.75 ? this.#append() : this.#read())
  }

  async examine(): Promise<void> {
    if (this.#database === null) return
    const { history, excused } = this.#context
    if (excused.has(this.#database.id)) return this.#giveUp()
    if (!this.#isReady) return
    const ms = (await this.#isFailed()) ? RECOVERED_MS : READABLE_MS
    await until('the database to be read', () => this.#read(), ms, 500).catch((error: Error) =>
      history.flaw(error.message),
    )
  }

  async clear(): Promise<void> {
    if (this.#database !== null) await this.#context.fleet.ask('DELETE', this.#path)
  }

  get #path(): string {
    return `/v1/databases/${this.#database?.id}`
  }

  /** The key of its list. */
  get #list(): string {
    return `database ${this.#database?.id}`
  }

  async #isFailed(): Promise<boolean> {
    return (await this.#context.fleet.ask('GET', this.#path)).body.status === 'failed'
  }

  /** It cannot come back, so there is another one from now on. */
  async #giveUp(): Promise<void> {
    const { fleet, history } = this.#context
    if (!(await this.#isFailed())) history.flaw(`${this.#list} of a lost host has not failed`)
    const { status, text } = await fleet.ask('DELETE', this.#path)
    if (status !== 204) history.flaw(`${this.#list} of a lost host cannot be deleted: ${status} ${text}`)
    history.forget(this.#list)
    this.#database = null
    this.#recoveredAt = null
    this.#isReady = this.#isBackedUp = false
    this.#committedAt.clear()
  }

  async #backUp(): Promise<void> {
    const { fleet, history } = this.#context
    const listed = await answered(fleet.ask('GET', `${this.#path}/backups`))
    this.#isBackedUp = listed?.status === 200 && (listed.body as object[]).length > 0
    if (this.#isBackedUp || listed === null) return
    const made = await answered(fleet.ask('POST', `${this.#path}/backups`))
    history.note(`database: back up: ${made?.status ?? 'no answer'} ${made?.text ?? ''}`)
  }

  async #append(): Promise<void> {
    const { history } = this.#context
    const value = history.newValue()
    await history.append(this.#list, value, async () => {
      const beganAt = performance.now()
      const row = await this.#query(`insert into list (value) values ('${value}') returning ${SERVER}`)
      if (row === null) return 'unknown'
      // The transaction ended at most as long after the server had looked at its clock as the whole of it took.
      const committedAt = row.now + performance.now() - beganAt
      const isKnown = await this.#hasAnswered(row.server)
      this.#committedAt.set(value, committedAt)
      return isKnown ? 'acknowledged' : 'unknown'
    })
  }

  async #read(): Promise<boolean> {
    return this.#context.history.read(this.#list, async () => {
      const row = await this.#query(`select coalesce(json_agg(value order by id), '[]') as values, ${SERVER} from list`)
      if (row === null || !(await this.#hasAnswered(row.server))) return null
      const { values = [], now } = row
      // What somebody has read was committed before.
      for (const value of values) if (!this.#committedAt.has(value)) this.#committedAt.set(value, now)
      return values
    })
  }

  /** @returns whether it is known what this server must have */
  async #hasAnswered(server: string): Promise<boolean> {
    if (this.#servers.at(-1) === server) return true
    const answer = await answered(this.#context.fleet.ask('GET', this.#path))
    if (answer?.status !== 200) return false
    const { recovered_at: recoveredAt, recovered_until: recoveredUntil } = answer.body
    if (recoveredAt !== this.#recoveredAt) this.#restored(Date.parse(recoveredUntil))
    this.#recoveredAt = recoveredAt
    if (this.#servers.includes(server))
      this.#context.history.flaw(`the database's server of ${server} answers after that of ${this.#servers.at(-1)}`)
    this.#servers.push(server)
    return true
  }

  #restored(untilMs: number): void {
    const { history } = this.#context
    const survives = (value: string) => (this.#committedAt.get(value) ?? Infinity) <= untilMs
    history.restored(this.#list, survives)
    const lost = [...this.#committedAt].filter(([value]) => !survives(value))
    for (const [value] of lost) this.#committedAt.delete(value)
    // A second recovery may end where the first did, which has counted what it lost.
    const times = lost.map(([, at]) => at)
    const lostMs = times.length === 0 ? 0 : Math.max(...times) - Math.min(...times)
    history.note(`${this.#list}: complete until ${new Date(untilMs).toISOString()}, ${Math.round(lostMs)} ms are lost`)
    if (lostMs > MOST_LOST_MS) history.flaw(`${this.#list}: the commits of ${Math.round(lostMs)} ms are lost`)
  }

  /** @returns the first row; `null`: nobody knows what became of it */
  async #query(text: string): Promise<Row | null> {
    const { connection_url: url = '' } = this.#database ?? {}
    const client = new pg.Client({ ...options(url), connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return ((await client.query(text)).rows[0] as Row | undefined) ?? { server: '', now: 0 }
    } catch (error) {
      this.#context.history.note(`database: ${(error as Error).message}`)
      return null
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}
