import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { databaseUser } from '@offshoot/contract/database'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { S3Server } from '@offshoot/kit/test/s3-server'
import pg from 'pg'
import { failSandboxesOf, retireAgent } from '../fleet/agent-statements.ts'
import { openSecrets } from '../kinds/databases/model/secrets.ts'
import { outliveBrokenConnections } from '../platform/db/outlive-broken-connections.ts'
import { copySettings } from './copy-settings.ts'
import { FakeAgent } from './fake-agent.ts'
import type { FakeFile } from './fake-agent-state.ts'
import { fakeDatabase } from './fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant, type TestSettings } from './harness.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'

export const SEGMENTS = [1, 2, 3].map((n) => `00000001000000000000000${n}`)
/** The last transaction that the server has replayed, by its own word: its clock is ahead. */
const LAST = '2036-11-27 00:14:25.123456+00\n'
/** Where a recovery ended: within the second segment, and at the end of the third. */
export const HISTORY = '1\t0/800060\tno recovery target specified\n'
export const WHOLE_HISTORY = '1\t0/1000000\tno recovery target specified\n'

/** The real PostgreSQL to which the guest of a recovered database leads, so that the database takes its credentials. */
export class RecoveredServer {
  readonly postgres: TestPostgres
  readonly #pool: pg.Pool

  private constructor(postgres: TestPostgres, pool: pg.Pool) {
    this.postgres = postgres
    this.#pool = pool
  }

  static async start(): Promise<RecoveredServer> {
    const postgres = await startPostgres()
    const first = new pg.Client({ ...postgres, database: 'postgres' })
    await first.connect()
    // A recovery changes the password of `postgres`.
    await first.query(`create role tester superuser login password 'tester'`)
    await first.end()
    const pool = new pg.Pool({ ...postgres, user: 'tester', password: 'tester', database: 'postgres' })
    outliveBrokenConnections(pool)
    return new RecoveredServer(postgres, pool)
  }

  async expect(id: string, adminToken: string): Promise<void> {
    await this.#pool.query(`alter role postgres password '${adminToken}'`)
    await this.#pool.query(`create role ${databaseUser(id)} superuser login`)
  }

  async stop(): Promise<void> {
    await this.#pool.end()
    await this.postgres.stop('SIGINT')
  }
}

interface Cluster {
  readonly harness: Harness
  readonly control: RunningControl
  /** The host of the database. */
  readonly home: FakeAgent
  readonly other: FakeAgent
  readonly s3: S3Server
}

/** A database whose archive is in the object store, and whose host a test takes away. */
export class DatabaseToLose {
  readonly harness: Harness
  home: FakeAgent
  readonly other: FakeAgent
  readonly s3: S3Server
  control: RunningControl
  alice: Tenant
  id = ''
  password = ''

  private constructor({ harness, control, home, other, s3 }: Cluster, alice: Tenant) {
    this.harness = harness
    this.control = control
    this.home = home
    this.other = other
    this.s3 = s3
    this.alice = alice
  }

  static async start(server: RecoveredServer, settings: TestSettings = {}): Promise<DatabaseToLose> {
    const s3 = await S3Server.start()
    const home = await FakeAgent.start({ templates: ['postgres-16'] })
    const other = await FakeAgent.start({ templates: [] })
    const harness = await Harness.start()
    const control = await harness.control([home, other], { ...copySettings(s3.settings), ...settings })
    return DatabaseToLose.on({ harness, control, home, other, s3 }, server)
  }

  /** In a cluster that the test has started. */
  static async on(cluster: Cluster, server: RecoveredServer): Promise<DatabaseToLose> {
    const { harness, control, s3 } = cluster
    const lost = new DatabaseToLose(cluster, await harness.tenant(control, 'alice'))
    await lost.#make(server)
    await eventually(() => SEGMENTS.every((name) => s3.objects.has(lost.objectOf(name))))
    return lost
  }

  async #make(server: RecoveredServer): Promise<void> {
    const { alice, control, harness, home, other } = this
    this.id = await fakeDatabase(harness, control, alice)
    const { rows } = await harness.pool.query('select secrets from databases')
    const { adminToken, password } = openSecrets(control.control.databaseSecrets, rows[0].secrets)
    this.password = password
    await server.expect(this.id, adminToken)
    const files = SEGMENTS.map((name): [string, FakeFile] => {
      return [name, { content: Buffer.from(name), takenAt: new Date().toISOString() }]
    })
    home.state.archives.set(this.id, new Map(files))
    await harness.pool.query('insert into stored_archives (id, workspace_id, due_at) values ($1, $2, now())', [
      this.id,
      alice.workspaceId,
    ])
    other.onUpgrade = (_request, socket) => {
      const inner = connect(server.postgres.port, server.postgres.host)
      inner.on('error', () => socket.destroy())
      inner.once('connect', () => {
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`,
        )
        socket.pipe(inner).pipe(socket)
      })
      socket.once('close', () => inner.destroy())
    }
    this.recovers()
  }

  /** The key of a file of the archive in the object store. */
  objectOf(name: string): string {
    const key = [...this.s3.objects.keys()].find((each) => each.endsWith(`wal/${this.id}/${name}`))
    return key ?? name
  }

  async stop(): Promise<void> {
    await this.harness.stop()
    await Promise.all([this.home.kill(), this.other.kill()])
    await this.s3.stop()
  }

  async ask(method: string, path = '', body?: object) {
    return call(this.control.url, method, `/v1/databases/${this.id}${path}`, {
      token: this.alice.key,
      ...(body && { body }),
    })
  }

  async moves() {
    const { rows } = await this.harness.pool.query(
      'select state, reason, left_behind, backup_id, to_agent from sandbox_moves order by created_at',
    )
    return rows
  }

  /** Waits for an attempt that failed for this reason. */
  async tried(reason: string): Promise<void> {
    const isIt = (move: { state: string; reason: string }) => move.state === 'failed' && move.reason.includes(reason)
    await eventually(async () => (await this.moves()).some(isIt))
  }

  /** Begins another attempt without waiting for its time. */
  async again(): Promise<void> {
    const { pool } = this.harness
    await eventually(
      async () => (await pool.query('select from sandbox_moves where left_behind is not null')).rowCount === 0,
    )
    await pool.query(`update sandbox_moves set created_at = created_at - interval '1 minute' where state = 'failed'`)
    await pool.query(`update removed_objects set removed_at = removed_at - interval '10 minutes'`)
    await this.wake()
  }

  async wake(): Promise<void> {
    await this.harness.pool.query(`select wake_job('recover-databases')`)
  }

  async recovered(): Promise<void> {
    await eventually(async () => (await this.ask('GET')).body.recovered_at !== null)
  }

  /** What the guest of the new host answers. @param exitCode of the recovery */
  recovers(exitCode = 0, history = HISTORY): { readonly commands: string[] } {
    const commands: string[] = []
    const run = async (request: IncomingMessage, response: ServerResponse) => {
      const { cmd } = (await json(request)) as { cmd: string }
      commands.push(cmd)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (cmd.includes('recover'))
        response.write(`event: stdout\ndata: ${JSON.stringify({ chunk: LAST + history })}\n\n`)
      const code = cmd.includes('recover') ? exitCode : 0
      response.end(`event: exit\ndata: ${JSON.stringify({ exit_code: code, duration_ms: 1 })}\n\n`)
    }
    this.other.onOperation = (request, response) => {
      if (request.url?.endsWith('/archive/feed') === true) return true
      if (request.url?.endsWith('/exec/stream') !== true) return false
      void run(request, response)
      return true
    }
    return { commands }
  }

  /** A backup that the other host has. */
  async backUp(): Promise<string> {
    const id = await this.#takeBackup(60)
    const snapshot = this.home.state.snapshots.get(id)
    if (snapshot !== undefined) this.other.state.snapshots.set(id, snapshot)
    await this.harness.pool.query('update snapshots set agent_id = $1 where id = $2', [this.other.state.agentId, id])
    return id
  }

  /** Lets control have been told of the files of the archive in a minute, which is after the backup. @returns the time */
  async toldInAMinute(): Promise<string> {
    const at = new Date(Date.now() + 60_000).toISOString()
    await this.harness.pool.query('update stored_segments set recorded_at = $1', [at])
    return at
  }

  /** A backup that its own host and the object store have. @param secondsAgo when it was taken */
  async storeBackup(secondsAgo = 60): Promise<string> {
    const id = await this.#takeBackup(secondsAgo)
    const { pool } = this.harness
    const stored = `select from artifact_copies where artifact_id = $1 and state = 'stored'`
    await eventually(async () => (await pool.query(stored, [id])).rowCount === 1)
    return id
  }

  async #takeBackup(secondsAgo: number): Promise<string> {
    const { body } = await this.ask('POST', '/backups', {})
    await this.harness.pool.query('update database_backups set taken_at = $1 where id = $2', [
      new Date(Date.now() - secondsAgo * 1_000),
      body.id,
    ])
    return body.id as string
  }

  /** Removes the objects of a backup's own stream from the store. @returns what they were */
  async dropObjects(backup: string): Promise<Map<string, Buffer>> {
    const { rows } = await this.harness.pool.query<{ id: string }>(
      'select s.id from stored_streams s join artifact_copies c on c.id = s.copy_id where c.artifact_id = $1 and s.bake is null',
      [backup],
    )
    const dropped = [...this.s3.objects].filter(([key]) => rows.some(({ id }) => key.includes(`streams/${id}.`)))
    for (const [key] of dropped) this.s3.objects.delete(key)
    return new Map(dropped)
  }

  /** An operator removes the host. */
  async remove(reason: string | null = 'its disk died'): Promise<void> {
    const { home, harness } = this
    await home.kill()
    await retireAgent(harness.pool, home.state.agentId, reason)
    await failSandboxesOf(harness.pool, [home.state.agentId], 0)
    await this.wake()
  }
}
