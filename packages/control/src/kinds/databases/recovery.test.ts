/** @module-tag faults */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { databaseUser } from '@offshoot/contract/database'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { S3Server } from '@offshoot/kit/test/s3-server'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failSandboxesOf, retireAgent } from '../../fleet/agent-statements.ts'
import { copySettings } from '../../test/copy-settings.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import type { FakeFile } from '../../test/fake-agent-state.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'
import { outliveBrokenConnections } from '../../platform/db/outlive-broken-connections.ts'
import { openSecrets } from './model/secrets.ts'

const SEGMENTS = [1, 2, 3].map((n) => `00000001000000000000000${n}`)
/** The last transaction that the server has replayed, by its own word. */
const LAST = '2036-11-27 00:14:25.123456+00\n'
const UNTIL = '2036-11-27T00:14:25.123Z'

/** The guest of a recovered database leads to a real PostgreSQL, so that the database takes its credentials. */
describe('a database whose host was removed', () => {
  let postgres: TestPostgres
  let server: pg.Pool
  let harness: Harness
  let home: FakeAgent
  let other: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let s3: S3Server
  let id: string
  let password: string

  beforeAll(async () => {
    postgres = await startPostgres()
    const first = new pg.Client({ ...postgres, database: 'postgres' })
    await first.connect()
    // A recovery changes the password of `postgres`.
    await first.query(`create role tester superuser login password 'tester'`)
    await first.end()
    server = new pg.Pool({ ...postgres, user: 'tester', password: 'tester', database: 'postgres' })
    outliveBrokenConnections(server)
  })
  afterAll(async () => {
    await server.end()
    await postgres.stop('SIGINT')
  })

  beforeEach(async () => {
    s3 = await S3Server.start()
    home = await FakeAgent.start({ templates: ['postgres-16'] })
    other = await FakeAgent.start({ templates: [] })
    harness = await Harness.start()
    control = await harness.control([home, other], copySettings(s3.settings))
    alice = await harness.tenant(control, 'alice')
    id = await fakeDatabase(harness, control, alice)
    const { rows } = await harness.pool.query('select secrets from databases')
    const secrets = openSecrets(control.control.databaseSecrets, rows[0].secrets)
    password = secrets.password
    await server.query(`alter role postgres password '${secrets.adminToken}'`)
    await server.query(`create role ${databaseUser(id)} superuser login`)
    const files = SEGMENTS.map((name): [string, FakeFile] => {
      return [name, { content: Buffer.from(name), takenAt: new Date().toISOString() }]
    })
    home.state.archives.set(id, new Map(files))
    await harness.pool.query('insert into stored_archives (id, workspace_id, due_at) values ($1, $2, now())', [
      id,
      alice.workspaceId,
    ])
    await eventually(() => s3.objects.size === SEGMENTS.length)
    other.onUpgrade = (_request, socket) => {
      const inner = connect(postgres.port, postgres.host)
      inner.on('error', () => socket.destroy())
      inner.once('connect', () => {
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`,
        )
        socket.pipe(inner).pipe(socket)
      })
      socket.once('close', () => inner.destroy())
    }
    recovers()
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all([home.kill(), other.kill()])
    await s3.stop()
  })

  const ask = async (method: string, path = '', body?: object, on = control) =>
    call(on.url, method, `/v1/databases/${id}${path}`, { token: alice.key, ...(body && { body }) })
  const movesOf = async () =>
    (await harness.pool.query('select state, reason, left_behind from sandbox_moves order by created_at')).rows
  const tried = async (reason: string) =>
    eventually(async () => (await movesOf()).some((move) => move.state === 'failed' && move.reason.includes(reason)))
  const againNow = async () =>
    harness.pool.query(`update sandbox_moves set created_at = created_at - interval '1 minute' where state = 'failed'`)
  const recovered = async () => eventually(async () => (await ask('GET')).body.recovered_at !== null)

  /** What the guest of the new host answers. @param exitCode of the recovery */
  function recovers(exitCode = 0): { readonly commands: string[] } {
    const commands: string[] = []
    const run = async (request: IncomingMessage, response: ServerResponse) => {
      const { cmd } = (await json(request)) as { cmd: string }
      commands.push(cmd)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (cmd.includes('recover')) response.write(`event: stdout\ndata: ${JSON.stringify({ chunk: LAST })}\n\n`)
      const code = cmd.includes('recover') ? exitCode : 0
      response.end(`event: exit\ndata: ${JSON.stringify({ exit_code: code, duration_ms: 1 })}\n\n`)
    }
    other.onOperation = (request, response) => {
      if (request.url?.endsWith('/archive/feed') === true) return true
      if (request.url?.endsWith('/exec/stream') !== true) return false
      void run(request, response)
      return true
    }
    return { commands }
  }

  /** A backup that the other host has. */
  async function backUp(): Promise<string> {
    const { body } = await ask('POST', '/backups', {})
    const snapshot = home.state.snapshots.get(body.id)
    if (snapshot !== undefined) other.state.snapshots.set(body.id, snapshot)
    await harness.pool.query('update snapshots set agent_id = $1', [other.state.agentId])
    await harness.pool.query('update database_backups set taken_at = $1', [new Date(Date.now() - 60_000)])
    return body.id as string
  }

  async function remove(reason: string | null = 'its disk died'): Promise<void> {
    await home.kill()
    await retireAgent(harness.pool, home.state.agentId, reason)
    await failSandboxesOf(harness.pool, [home.state.agentId])
    await harness.pool.query(`select wake_job('recover-databases')`)
  }

  it('comes back from its backup and its stored archive, with its id and its credentials', async () => {
    const backup = await backUp()
    const before = (await ask('GET')).body
    const created: object[] = []
    other.onCreate = async (_id, body) => {
      created.push(body)
      return undefined
    }
    const { commands } = recovers()
    await remove()
    await recovered()
    const { connection_url: url, username } = before
    expect((await ask('GET')).body).toMatchObject({
      id,
      status: 'running',
      connection_url: url,
      recovered_until: UNTIL,
    })
    expect(created).toMatchObject([{ id, snapshot_id: backup, without_memory: true, visibility: 'private' }])
    expect([...(other.state.archives.get(id)?.keys() ?? [])]).toEqual(SEGMENTS)
    expect(commands).toEqual([expect.stringContaining('timeline=latest'), expect.stringContaining('resize2fs')])
    await eventually(() => other.state.sandboxes.get(id)?.visibility === 'public')
    const client = new pg.Client({ ...postgres, user: username, password, database: 'postgres' })
    await client.connect()
    await client.end()
    const { rows } = await harness.pool.query('select details from audit_log where action = $1', ['database.recovered'])
    const [from, to] = [home, other].map(({ state }) => state.agentId)
    expect(rows).toEqual([{ details: { from, to, backup, until: UNTIL } }])
    // A new backup is made soon, and the old host would remove what it has.
    await eventually(async () => (await ask('GET', '/backups')).body.length === 2)
    const removed = await harness.pool.query('select from removed_objects where id = $1 and agent_id = $2', [id, from])
    expect(removed.rowCount).toBe(1)
  })

  it('stays as it is if the host is only lost, or was removed without a reason', async () => {
    await backUp()
    await harness.pool.query('update agents set lost_at = now() where id = $1', [home.state.agentId])
    await remove(null)
    const metrics = await call(control.url, 'GET', '/metrics', {})
    expect([await movesOf(), metrics.status]).toEqual([[], 200])
    expect((await ask('GET')).body).toMatchObject({ status: 'failed', recovered_at: null })
  })

  it('stays as it is without a backup on another host, and without a stored archive', async () => {
    await remove()
    await harness.pool.query(`delete from stored_segments`)
    await harness.pool.query(`select wake_job('recover-databases')`)
    expect((await ask('GET')).body).toMatchObject({ status: 'failed', recovered_at: null })
    expect(await movesOf()).toEqual([])
  })

  it.each([
    ['a file of the archive is missing', 'is missing', () => s3.objects.clear()],
    ['the store is broken', 'status 500', () => void (s3.fault = 'error-500')],
    ['the recovery fails', 'could not be brought', () => void recovers(1)],
  ])('is never made of a part: %s', async (_what, reason, fault) => {
    await backUp()
    const objects = new Map(s3.objects)
    fault()
    await remove()
    await tried(reason)
    expect((await ask('GET')).body).toMatchObject({ status: 'failed', recovered_at: null })
    await eventually(() => !other.state.sandboxes.has(id))
    s3.fault = 'none'
    for (const [name, content] of objects) s3.objects.set(name, content)
    recovers()
    await againNow()
    await harness.pool.query(`select wake_job('recover-databases')`)
    await recovered()
  })

  it('is begun again by another process if one ends in the middle', async () => {
    await backUp()
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    other.onMove = async (step) => {
      if (step !== 'put-archive') return undefined
      begun.resolve()
      await held.promise
      return undefined
    }
    await remove()
    await begun.promise
    const second = await harness.control([other], copySettings(s3.settings))
    await control.stop()
    control = second
    held.resolve()
    await tried('interrupted')
    await againNow()
    await harness.pool.query(`select wake_job('recover-databases')`)
    await recovered()
    expect((await movesOf()).map(({ state }) => state)).toEqual(['failed', expect.stringMatching(/^(done|committed)$/)])
  })

  it('is not made if it is deleted meanwhile', async () => {
    await backUp()
    other.onMove = async (step) => {
      if (step === 'put-archive') await ask('DELETE')
      return undefined
    }
    await remove()
    await eventually(async () => (await movesOf()).some(({ state }) => state === 'failed'))
    await eventually(() => !other.state.sandboxes.has(id))
    expect((await ask('GET')).status).toBe(404)
  })
})
