import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { databaseUser } from '@offshoot/contract/database'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { outliveBrokenConnections } from '../../../platform/db/outlive-broken-connections.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { fakeDatabase } from '../../../test/fake-database.ts'
import { type Answer, call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { startPostgres, type TestPostgres } from '../../../test/postgres.ts'
import { openSecrets } from '../model/secrets.ts'
import { PER_DATABASE } from './connections.ts'

interface Served {
  readonly id: string
  readonly token: string
}

/** SQL over HTTP to a real server: all guests of a fake agent lead to one PostgreSQL. */
describe('SQL over HTTP', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let postgres: TestPostgres
  let server: pg.Pool
  let first: Served
  /** Number of connections to guests. */
  let opened = 0
  const held: AbortController[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
    server = new pg.Pool({ ...postgres, database: 'postgres' })
    outliveBrokenConnections(server)
    await server.query('create database app')
    agent = await FakeAgent.start({ templates: ['postgres-16'] })
    agent.onUpgrade = (_request, socket) => {
      opened += 1
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
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    first = await served(alice)
  })

  afterEach(async () => {
    for (const each of held.splice(0)) each.abort()
    await eventually(async () => (await sleeping()) === 0)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
    await server.end()
    await postgres.stop('SIGINT')
  })

  async function served(tenant: Tenant): Promise<Served> {
    const id = await fakeDatabase(harness, control, tenant)
    const { rows } = await harness.pool.query<{ secrets: Buffer }>('select secrets from databases where id = $1', [id])
    const { password, brokerToken } = openSecrets(control.control.databaseSecrets, rows[0]?.secrets as Buffer)
    const { escapeIdentifier, escapeLiteral } = pg
    await server.query(
      `create role ${escapeIdentifier(databaseUser(id))} superuser login password ${escapeLiteral(password)}`,
    )
    return { id, token: brokerToken }
  }

  const ask = (to: Served, path: string, body?: unknown, signal?: AbortSignal, token: string = to.token) =>
    call(control.url, body === undefined ? 'GET' : 'POST', `/v1/databases/${to.id}/proxy/${path}`, {
      ...(token && { token }),
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    })
  /** A statement without the server's own time limit. */
  const endless = { sql: 'set statement_timeout = 0; select pg_sleep(3600) as endless' }

  /** @returns the answer, or `null` if the caller hung up */
  function hold(to: Served, body: object = { ...endless, timeout_ms: 600_000 }): Promise<Answer | null> {
    const hangUp = new AbortController()
    held.push(hangUp)
    return ask(to, 'v1/exec', body, hangUp.signal).catch(() => null)
  }

  /** Counts the tenants' statements that run on the server. */
  async function sleeping(): Promise<number> {
    const { rows } = await server.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where state = 'active' and query like '%as endless%' and pid <> pg_backend_pid()`,
    )
    return rows[0]?.n ?? 0
  }

  it('asks for the broker’s token on every path, also on health, and opens no connection without it', async () => {
    const before = opened
    expect((await ask(first, 'v1/health', undefined, undefined, '')).status).toBe(401)
    expect((await ask(first, 'v1/health', undefined, undefined, alice.key)).status).toBe(401)
    expect(opened).toBe(before)
    expect(await ask(first, 'v1/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
  })

  it('refuses a wrong token before it reads the body', async () => {
    const headers = { authorization: `Bearer ${alice.key}`, 'content-type': 'application/json', 'content-length': 1000 }
    const sent = httpRequest(`${control.url}/v1/databases/${first.id}/proxy/v1/query`, { method: 'POST', headers })
    sent.flushHeaders()
    const [{ statusCode }] = await once(sent, 'response')
    sent.on('error', () => undefined).destroy()
    expect(statusCode).toBe(401)
  })

  it(
    'ends a request at its limit, whatever its statements say of statement_timeout',
    { tags: ['faults'] },
    async () => {
      const late = { status: 408, body: { code: '57014' } }
      expect(await ask(first, 'v1/exec', { ...endless, timeout_ms: 1 })).toMatchObject(late)
      expect(await ask(first, 'v1/query', { ...endless, timeout_ms: 1 })).toMatchObject(late)
      await eventually(async () => (await sleeping()) === 0)
    },
  )

  it('cancels the statement when the caller hangs up', async () => {
    const answer = hold(first)
    await eventually(async () => (await sleeping()) === 1)
    held.splice(0)[0]?.abort()
    expect(await answer).toBe(null)
    await eventually(async () => (await sleeping()) === 0)
    expect((await ask(first, 'v1/query', { sql: 'select 1' })).body.rows).toEqual([[1]])
  })

  it('refuses more to one database than it runs and lets wait, and goes on for others', async () => {
    const many = Array.from({ length: 2 * PER_DATABASE + 4 }, () => hold(first))
    const refused = await Promise.race(many)
    expect(refused).toMatchObject({ status: 429, body: { error: 'too many requests at the same time' } })
    const second = await served(alice)
    expect((await ask(second, 'v1/query', { sql: 'select 2' })).body.rows).toEqual([[2]])
  })

  it(
    'refuses large answers while others that one workspace does not read fill its share of the memory',
    { tags: ['faults'] },
    async () => {
      const bob = await harness.tenant(control, 'reader')
      const theirs = await served(bob)
      const large = { sql: `select repeat('x', 1000000) as large from generate_series(1, 30)` }
      const unread: ClientRequest[] = []
      /** Resolves with the status. The body stays unread, so control keeps most of it. */
      const begin = () =>
        new Promise<number | undefined>((resolve, reject) => {
          const headers = { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' }
          const sent = httpRequest(`${control.url}/v1/databases/${first.id}/proxy/v1/query`, {
            method: 'POST',
            headers,
          })
          sent.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
          sent.end(JSON.stringify(large))
          unread.push(sent)
        })
      try {
        expect([await begin(), await begin()]).toEqual([200, 200])
        const small = { sql: 'select 1' }
        expect(await ask(first, 'v1/query', small)).toMatchObject({
          status: 429,
          body: { error: 'too many large answers at the same time' },
        })
        expect(await ask(theirs, 'v1/query', small)).toMatchObject({ status: 200 })
      } finally {
        for (const each of unread) each.destroy()
      }
      await eventually(async () => (await ask(first, 'v1/query', { sql: 'select 1' })).status === 200)
    },
  )

  it('leaves places for other workspaces, whatever one of them holds', { tags: ['faults'] }, async () => {
    const bob = await harness.tenant(control, 'bob')
    const theirs = await served(bob)
    const databases = [first, ...(await Promise.all(Array.from({ length: 4 }, () => served(alice))))]
    const many = databases.flatMap((each) => Array.from({ length: 2 * PER_DATABASE }, () => hold(each)))
    await eventually(async () => (await sleeping()) >= 4 * PER_DATABASE)
    expect(await Promise.race(many)).toMatchObject({ status: 429 })
    expect((await ask(theirs, 'v1/query', { sql: 'select 3' })).body.rows).toEqual([[3]])
  })
})
