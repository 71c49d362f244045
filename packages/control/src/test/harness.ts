import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { controlConfig } from '@offshoot/contract/process-config'
import { findFreePort } from '@offshoot/kit/free-port'
import type { FastifyInstance } from 'fastify'
import { Pool } from 'pg'
import { pino } from 'pino'
import type { z } from 'zod'
import { type Control, startControl } from '../control.ts'
import { outliveBrokenConnections } from '../platform/db/outlive-broken-connections.ts'
import { createServer } from '../server.ts'
import { mintApiKey } from '../kinds/orgs/identity/api-key.ts'
import { insertApiKey } from '../kinds/orgs/identity/api-key-statements.ts'
import { insertMember, insertWorkspace } from '../kinds/orgs/identity/membership-statements.ts'
import type { FakeAgent } from './fake-agent.ts'
import { startMigratedPostgres, type TestPostgres } from './postgres.ts'

export interface Tenant {
  readonly workspaceId: string
  readonly userId: string
  readonly key: string
  readonly jwt: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed if it is JSON. Each test knows the shape that it expects. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface RunningControl {
  readonly control: Control
  readonly app: FastifyInstance
  readonly url: string
  stop(): Promise<void>
}

type ConfigInput = z.input<typeof controlConfig>
/** The settings of a control process that a test may choose. */
export type TestSettings = Partial<Omit<ConfigInput, 'agents' | 'listen' | 'public_url'>>
type ServedPostgres = Pick<TestPostgres, 'host' | 'port' | 'user' | 'password' | 'stop'>
type Settings = Pick<ConfigInput, 'database' | 'data_dir' | 'cors_origins' | 'commit'>

/** Only the tests of limits set any. */
const NO_LIMITS: ConfigInput['limits'] = {
  default_plan: 'self-hosted',
  rate_burst: 1_000_000,
  rate_per_second: 1_000_000,
}

/** A PostgreSQL with one database, and the control processes that a test starts on it. */
export class Harness {
  readonly pool: Pool
  readonly #config: Settings
  readonly #running = new Set<RunningControl>()
  readonly #cleanUp: () => Promise<void>

  private constructor(pool: Pool, config: Settings, cleanUp: () => Promise<void>) {
    this.pool = pool
    this.#config = config
    this.#cleanUp = cleanUp
  }

  static async start(): Promise<Harness> {
    return Harness.on(await startMigratedPostgres())
  }

  /** @param address at which control reaches the server */
  static async on(
    postgres: ServedPostgres,
    address: Pick<ServedPostgres, 'host' | 'port'> = postgres,
  ): Promise<Harness> {
    const dataDir = await mkdtemp(join(tmpdir(), 'offshoot-control-'))
    const { user, password } = postgres
    const { host, port } = address
    const database = { host, port, user, password, database: 'postgres' }
    const pool = new Pool(database)
    // The server may stop before the pool has closed its connections.
    outliveBrokenConnections(pool)
    const settings = { database, data_dir: dataDir, cors_origins: ['https://app.example.com'], commit: 'abc' }
    return new Harness(pool, settings, async () => {
      await pool.end()
      await postgres.stop()
      await rm(dataDir, { recursive: true })
    })
  }

  /** Waits until it reaches these agents. Hosts that have joined before may be away. */
  async control(
    agents: readonly Pick<FakeAgent, 'url' | 'secret'>[],
    chosen: TestSettings = {},
  ): Promise<RunningControl> {
    const listen = { host: '127.0.0.1', port: await findFreePort() }
    const url = `http://127.0.0.1:${listen.port}`
    const config = controlConfig.parse({
      ...this.#config,
      log_level: 'silent',
      limits: NO_LIMITS,
      ...chosen,
      listen,
      public_url: url,
      agents: agents.map((agent) => ({ url: agent.url, secret: agent.secret })),
    })
    const control = await startControl(config, pino({ level: 'silent' }))
    const app = await createServer(control)
    await app.listen(listen)
    const stop = async () => {
      if (!this.#running.delete(running)) return
      app.server.closeAllConnections()
      await app.close()
      await control.stop()
    }
    const running = { control, app, url, stop }
    this.#running.add(running)
    await eventually(() => control.fleet.agents.every(({ hostId, isReachable }) => hostId !== null || isReachable))
    return running
  }

  /** The settings of every control process on this database. */
  get settings(): Settings {
    return this.#config
  }

  /** Folder of the control processes' files. */
  get dataDir(): string {
    return this.#config.data_dir
  }

  /** A workspace with its owner, a key and a JWT. */
  async tenant({ control }: RunningControl, name: string): Promise<Tenant> {
    const { rows } = await this.pool.query<{ id: string }>(
      `insert into "user" (name, email, "emailVerified") values ($1, $2, true) returning id`,
      [name, `${name}@example.com`],
    )
    const [user] = rows
    const [workspace] = await insertWorkspace(this.pool, name, name)
    if (user === undefined || workspace === undefined) throw new Error('insert gave no row')
    await insertMember(this.pool, workspace.id, user.id, 'owner')
    const { key, prefix, hash } = mintApiKey()
    await insertApiKey(this.pool, prefix, hash, workspace.id, 'test', user.id, null, null)
    const { token: jwt } = await control.accounts.api.signJWT({
      body: { payload: { sub: user.id, org: workspace.id } },
    })
    return { workspaceId: workspace.id, userId: user.id, key, jwt }
  }

  /** Copies this sandbox's row with another status. No agent knows the copy. */
  async twinOf(id: string, status: string): Promise<string> {
    const { rows } = await this.pool.query<{ id: string }>(
      `insert into sandboxes
       select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'status', $2::text))).*
       from sandboxes s where id = $1 returning id`,
      [id, status],
    )
    const [twin] = rows
    if (twin === undefined) throw new Error(`no sandbox ${id}`)
    return twin.id
  }

  /** Records the removal of an object's row, as if its agent had not been told yet. */
  async recordRemoval({ state: { agentId } }: FakeAgent, id: string): Promise<void> {
    await this.pool.query('insert into removed_objects (id, agent_id) values ($1, $2)', [id, agentId])
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.stop()))
    await this.#cleanUp()
  }
}

export interface CallOptions {
  readonly token?: string
  /** An object is sent as JSON, a string as it is. */
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

export async function call(url: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { token, body, headers = {}, signal } = options
  const response = await fetch(url + path, {
    method,
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== ''
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

/** Waits until `condition` holds; after the timeout, fails with the last result. */
export async function eventually<T>(condition: () => T | Promise<T>, withinMs = 60_000): Promise<NonNullable<T>> {
  const endsAtMs = performance.now() + withinMs
  for (;;) {
    const value = await condition()
    if (value) return value
    if (performance.now() > endsAtMs) throw new Error(`not within ${withinMs} ms: ${String(condition)}`)
    await delay(10)
  }
}
