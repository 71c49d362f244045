import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokerCases } from './setup/broker-cases.ts'
import { cliDatabaseCases } from './setup/cli-database-cases.ts'
import { broker, cancel, connected, createDatabase, type Database, options, refusal, value } from './setup/database.ts'
import { Offshoot } from './setup/offshoot.ts'
import { sdkDatabaseCases } from './setup/sdk-database-cases.ts'
import { linesOfExample } from './setup/documented-examples.ts'
import { runTutorial } from './setup/tutorial.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
let database: Database

beforeAll(async () => {
  offshoot = await Offshoot.start('databases', {
    templates: ['postgres-16', 'postgres-16-16g'],
    env: { OFFSHOOT_COMMIT_MIB: '16384' },
  })
  database = await createDatabase(offshoot, { label: 'first' })
})
afterAll(async () => {
  await offshoot?.destroy()
})

const ask = (method: string, path: string, body?: unknown) =>
  offshoot.request(method, `/v1/databases${path}`, body === undefined ? {} : { body })

describe('a database', () => {
  it('is there with every field, and is listed without what opens it', async () => {
    expect(database).toEqual({
      id: expect.any(String),
      label: 'first',
      size: '1g',
      status: 'running',
      created_at: expect.any(String),
      connection_url: `postgresql://${database.username}:${database.password}@${database.host}:${database.port}/app?sslmode=require`,
      broker_url: `${offshoot.credentials.base_url}/v1/databases/${database.id}/proxy`,
      broker_token: expect.stringMatching(/^ofs_pg_/),
      host: '127.0.0.1',
      port: expect.any(Number),
      database: 'app',
      username: `db_${database.id.replaceAll('-', '')}`,
      password: expect.stringMatching(/^.{32}$/),
      cpu: 1,
      memory_mb: 1024,
      disk_mb: 8192,
      idle_timeout_seconds: 300,
      always_on: false,
      parent_id: null,
      recovered_at: null,
      recovered_until: null,
    })
    expect((await ask('GET', `/${database.id}`)).body).toEqual(database)
    const { body: connection } = await ask('GET', `/${database.id}/connection`)
    expect([Object.keys(connection), database]).toMatchObject([expect.arrayContaining(['connection_url']), connection])
    const { body: list, text } = await ask('GET', '')
    expect([database]).toMatchObject(list)
    for (const secret of [database.password, database.broker_token]) expect(text).not.toContain(secret)
  })

  it('is a PostgreSQL 16 whose owner may do anything in it', async () => {
    await connected(database.connection_url, async (client) => {
      const { rows } = await client.query('select version(), current_user, pg_is_in_recovery()')
      expect(rows).toEqual([
        { version: expect.stringMatching(/^PostgreSQL 16/), current_user: database.username, pg_is_in_recovery: false },
      ])
      expect((await client.query('show data_checksums')).rows).toEqual([{ data_checksums: 'on' }])
      for (const extension of ['pgcrypto', 'pg_trgm', 'hstore']) await client.query(`create extension ${extension}`)
      await client.query('create table kept (id int primary key, text text)')
      await client.query("insert into kept select n, 'row ' || n from generate_series(1, 1000) n")
      await client.query("create role reader login password 'of the reader'; grant select on kept to reader")
    })
    const ofReader = database.connection_url.replace(
      /\/\/[^@]*@/,
      `//reader.${database.username}:${encodeURIComponent('of the reader')}@`,
    )
    expect(await value(ofReader, 'select current_user || count(*) from kept')).toBe('reader1000')
  })

  it('is refused where its size does not fit, and nothing of it is left', async () => {
    expect(await ask('POST', '', { size: '16g' })).toMatchObject({
      status: 507,
      body: { error: 'insufficient host memory for sandbox' },
    })
    for (const size of ['2g', 16, '']) expect(await ask('POST', '', { size })).toMatchObject({ status: 400 })
    expect((await ask('GET', '')).body).toHaveLength(1)
    expect(await offshoot.virtualMachines()).toHaveLength(1)
  })

  it('refuses with errors that PostgreSQL would give', async () => {
    const plain = await connected(database.connection_url.replace('?sslmode=require', ''), async () => null).catch(
      (error: pg.DatabaseError) => error,
    )
    expect(plain).toMatchObject({ code: '28000', message: 'connection is not encrypted', severity: 'FATAL' })
    const { connection_url: url, password, username } = database
    expect(await refusal(url.replace(password, 'wrong'))).toMatchObject({ code: '28P01' })
    expect(await refusal(url.replace('/app?', '/other?'))).toMatchObject({ code: '3D000' })
    expect(await refusal(url.replace(username, `db_${'0'.repeat(32)}`))).toMatchObject({ code: '3D000' })
    expect(await refusal(url.replace(username, 'postgres'))).toMatchObject({ code: '28000' })
    // The initial password of the template must not work.
    expect(await refusal(url.replace(`${username}:${password}`, `postgres.${username}:unclaimed`))).toMatchObject({
      code: '28P01',
    })
  })

  it('cancels a statement, and lets others listen', async () => {
    const client = new pg.Client(options(database.connection_url))
    await client.connect()
    const cancelled = client.query('select pg_sleep(60)').catch((error: pg.DatabaseError) => error.code)
    await until('the statement to run', async () => {
      const running = `select count(*)::int from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'`
      return (await value(database.connection_url, running)) === 1
    })
    // The driver cancels without encryption, as libpq does up to version 16.
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number }
    await cancel(database, processID, secretKey)
    expect(await cancelled).toBe('57014')
    await client.query('listen news')
    const heard = new Promise((resolve) => client.once('notification', ({ payload }) => resolve(payload)))
    await value(database.connection_url, `select pg_notify('news', 'good')`)
    expect(await heard).toBe('good')
    await client.end()
  })

  it('goes on as it was after every service was killed', { tags: ['faults'] }, async () => {
    for (const service of ['control', 'edge', 'agent'] as const) await offshoot.killService(service)
    await until('the edge to lead there again', async () => {
      const count = await value(database.connection_url, 'select count(*)::int from kept').catch(() => null)
      return count === 1000
    })
    expect((await ask('GET', `/${database.id}`)).body).toEqual(database)
  })
})

describe('databases with the SDK', () => {
  sdkDatabaseCases(
    () => database,
    () => offshoot,
  )
})

describe('the broker', () => {
  brokerCases(
    () => database,
    () => offshoot,
  )
})

describe('the life of a database', () => {
  it('sleeps, and wakes for a connection and for the broker', async () => {
    for (const wake of [
      () => value(database.connection_url, 'select count(*)::int from kept'),
      async () =>
        (await broker(database, 'v1/query', { sql: 'select count(*)::int from kept' })).body.rows[0][0] as number,
    ]) {
      const slept = await offshoot.request('POST', `/v1/sandboxes/${database.id}/hibernate`)
      expect(slept).toMatchObject({ status: 200, body: { status: 'hibernated', managed_by: 'database' } })
      expect((await ask('GET', `/${database.id}`)).body).toMatchObject({ status: 'hibernated' })
      expect(await wake()).toBe(1002)
    }
  })

  it('branches under writes: with all of an instant, credentials of its own, and nothing shared since', async () => {
    await value(database.connection_url, 'create table pairs (a int, b int)').catch(() => undefined)
    const stop = new AbortController()
    const writing = connected(database.connection_url, async (client) => {
      for (let n = 0; !stop.signal.aborted; n++) await client.query('insert into pairs values ($1, 0), (0, -$1)', [n])
    })
    await until('writes', async () => Number(await value(database.connection_url, 'select count(*) from pairs')) > 10)
    const answer = await ask('POST', `/${database.id}/branch`, { label: 'branch' })
    stop.abort()
    await writing
    expect(answer).toMatchObject({ status: 201, body: { label: 'branch', parent_id: database.id, status: 'running' } })
    const branch = answer.body as Database
    expect(branch.password).not.toBe(database.password)
    expect(await value(branch.connection_url, 'select sum(a) + sum(b) from pairs')).toBe('0')
    expect(await value(branch.connection_url, 'select count(*)::int from kept')).toBe(1002)
    await value(branch.connection_url, 'delete from kept returning 1')
    expect(await value(database.connection_url, 'select count(*)::int from kept')).toBe(1002)
    expect(await refusal(branch.connection_url.replace(branch.password, database.password))).toMatchObject({
      code: '28P01',
    })
    expect(await broker(branch, 'v1/info', undefined, database.broker_token)).toMatchObject({ status: 401 })
    expect(await ask('DELETE', `/${branch.id}`)).toMatchObject({ status: 204 })
    expect(await refusal(branch.connection_url)).toMatchObject({ code: '3D000' })
    expect(await ask('GET', `/${branch.id}`)).toMatchObject({ status: 404 })
  })

  it('is backed up, and a branch at a backup is as it was then, whatever opens the database by now', async () => {
    const backup = await ask('POST', `/${database.id}/backups`)
    expect(backup).toMatchObject({
      status: 201,
      body: { database_id: database.id, origin: 'request', size_bytes: expect.any(Number) },
    })
    await value(database.connection_url, "insert into kept values (5000, 'later') returning 1")
    database = (await ask('POST', `/${database.id}/reset-credentials`)).body as Database
    const later = await ask('POST', `/${database.id}/backups`)
    expect((await ask('GET', `/${database.id}/backups`)).body).toMatchObject([
      { id: later.body.id, created_at: later.body.created_at },
      { id: backup.body.id, created_at: backup.body.created_at },
    ])
    const { status, body } = await ask('POST', `/${database.id}/branch`, { at: backup.body.id, label: 'then' })
    expect([status, body]).toMatchObject([201, { label: 'then', parent_id: database.id, status: 'running' }])
    const then = body as Database
    expect(await value(then.connection_url, 'select count(*)::int from kept')).toBe(1002)
    expect(await value(database.connection_url, 'select count(*)::int from kept')).toBe(1003)
    for (const [path, status_] of [
      [`/${then.id}/backups/${backup.body.id}`, 404],
      [`/${database.id}/backups/x`, 404],
      [`/${database.id}/backups/${backup.body.id}`, 204],
      [`/${database.id}/backups/${backup.body.id}`, 404],
    ] as const)
      expect([path, (await ask('DELETE', path)).status]).toEqual([path, status_])
    for (const at of [backup.body.id, database.id, 'x'])
      expect(await ask('POST', `/${database.id}/branch`, { at })).toMatchObject({ status: 404 })
    expect(await ask('POST', `/${database.id}/branch`, { at: 1 })).toMatchObject({ status: 400 })
    expect(await ask('DELETE', `/${then.id}`)).toMatchObject({ status: 204 })
    await value(database.connection_url, 'delete from kept where id = 5000 returning 1')
  })

  it('can have other credentials, and the old ones open nothing', { tags: ['faults'] }, async () => {
    const client = new pg.Client(options(database.connection_url))
    const ended = new Promise((resolve) => client.on('error', resolve))
    await client.connect()
    const before = database
    database = (await ask('POST', `/${database.id}/reset-credentials`)).body as Database
    await ended
    expect(await refusal(before.connection_url)).toMatchObject({ code: '28P01' })
    expect(await broker(before, 'v1/info')).toMatchObject({ status: 401 })
    expect(await value(database.connection_url, 'select 1')).toBe(1)
  })

  it('shows how it is, and what the server wrote', async () => {
    const { status, body } = await ask('GET', `/${database.id}/stats`)
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ connections: 0, max_connections: 100, slow_statements: expect.any(Array) }),
    ])
    expect(JSON.stringify(body)).not.toContain('SCRAM')
    const log = await ask('GET', `/${database.id}/logs?tail=200`)
    expect(log.text).toContain('password authentication failed')
    expect(log.text).not.toContain('SCRAM-SHA-256$')
  })

  it('is changed', async () => {
    const patch = { label: 'renamed', idle_timeout_seconds: 60, always_on: true }
    expect(await ask('PATCH', `/${database.id}`, patch)).toMatchObject({ status: 200, body: patch })
    expect(await ask('PATCH', `/${database.id}`, { idle_timeout_seconds: 59 })).toMatchObject({ status: 400 })
  })

  it('is deleted by its feature alone, with all that is in it', async () => {
    expect(await offshoot.request('DELETE', `/v1/sandboxes/${database.id}`)).toMatchObject({
      status: 409,
      body: { error: 'managed sandbox: delete it from the feature that owns it (Databases or Apps)' },
    })
    for (const status of [204, 404]) expect(await ask('DELETE', `/${database.id}`)).toMatchObject({ status })
    expect((await ask('GET', '')).body).toEqual([])
    expect((await offshoot.request('GET', '/v1/snapshots')).body).toEqual([])
    expect(await offshoot.virtualMachines()).toEqual([])
  })
})

describe('databases', () => {
  it('are branched as the tutorial shows', { tags: ['long'] }, async () => {
    expect(await runTutorial(offshoot, [6])).toEqual([])
  })

  it('give each test a branch, in the example branch-per-test.ts', { tags: ['long'] }, async () => {
    expect((await linesOfExample('branch-per-test.ts', offshoot)).toSorted()).toEqual([
      'passed: adds a person',
      'passed: deletes a person',
      'the prepared database is unchanged',
    ])
  })

  cliDatabaseCases(() => offshoot)
})
