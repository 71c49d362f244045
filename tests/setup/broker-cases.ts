import { neon, neonConfig } from '@neondatabase/serverless'
import { expect, it } from 'vitest'
import { broker, type Database, value } from './database.ts'
import { call } from './http.ts'
import type { Offshoot } from './offshoot.ts'

const insert = (id: number) => ({ sql: 'insert into kept (id) values ($1)', params: [id] })

/** The broker of a database, with a table `kept` of 1,000 rows. */
export function brokerCases(of: () => Database, server: () => Offshoot): void {
  it('answers as wire.md says', async () => {
    expect(await broker(of(), 'v1/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect((await call('GET', `${of().broker_url}/v1/health`)).status).toBe(401)
    expect(await broker(of(), 'v1/info')).toMatchObject({
      status: 200,
      body: { user: of().username, database: 'app', server_version: expect.stringMatching(/^16/) },
    })
    const sql = 'select $1::int as a, $2::int8 as b, null as c, $3::jsonb as d from generate_series(1, 3)'
    const params = [1, '9007199254740993', '{"x":[1]}']
    expect((await broker(of(), 'v1/query', { sql, params, max_rows: 2 })).body).toEqual({
      columns: [
        { name: 'a', type: 'int4' },
        { name: 'b', type: 'int8' },
        { name: 'c', type: 'text' },
        { name: 'd', type: 'jsonb' },
      ],
      rows: Array.from({ length: 2 }, () => [1, '9007199254740993', null, { x: [1] }]),
      count: 2,
      truncated: true,
      command: 'SELECT',
      rows_affected: 3,
      duration_ms: expect.any(Number),
    })
    expect(await broker(of(), 'v1/exec', { sql: "update kept set text = 'x' where id <= 3" })).toMatchObject({
      status: 200,
      body: { rows_affected: 3 },
    })
  })

  it('does all of a transaction, or nothing', async () => {
    expect(await broker(of(), 'v1/transaction', { statements: [insert(2001), insert(1)] })).toMatchObject({
      status: 400,
      body: { code: '23505', constraint: 'kept_pkey', statement: 1 },
    })
    expect(await value(of().connection_url, 'select count(*)::int from kept where id > 2000')).toBe(0)
    const { status, body } = await broker(of(), 'v1/transaction', {
      statements: [insert(2001), { sql: 'select 1 as one' }],
    })
    expect([status, body.results[1].rows]).toEqual([200, [[1]]])
    expect(await value(of().connection_url, 'select count(*)::int from kept where id > 2000')).toBe(1)
  })

  it('refuses', async () => {
    expect(await broker(of(), 'v1/query', { sql: 'selec 1' })).toMatchObject({
      status: 400,
      body: { error: 'syntax error at or near "selec"', code: '42601', detail: null, hint: null, position: '1' },
    })
    for (const [path, body, status] of [
      ['v1/query', { sql: 'select pg_sleep(60)', timeout_ms: 100 }, 408],
      ['v1/query', {}, 400],
      ['v1/query', { sql: 1 }, 400],
      ['v1/exec', { sql: 'copy kept from stdin' }, 400],
      ['v1/query', { sql: 'copy kept to stdout' }, 400],
      ['v1/query', undefined, 405],
      ['v1/nothing', {}, 404],
    ] as const)
      expect([path, body, (await broker(of(), path, body)).status]).toEqual([path, body, status])
    const other = { ...of(), broker_url: of().broker_url.replace(of().id, crypto.randomUUID()) }
    for (const token of ['ofs_pg_x', server().credentials.api_key]) {
      const unknown = await broker(other, 'v1/query', { sql: 'select 1' }, token)
      expect(await broker(of(), 'v1/query', { sql: 'select 1' }, token)).toMatchObject({
        status: 401,
        body: unknown.body as object,
      })
    }
  })

  it('leaves nothing of one request to the next', async () => {
    await broker(of(), 'v1/exec', { sql: "begin; set search_path = 'nowhere'; create temporary table gone ()" })
    expect(
      (await broker(of(), 'v1/query', { sql: "select current_setting('search_path'), to_regclass('gone')" })).body.rows,
    ).toEqual([['"$user", public', null]])
  })

  it('speaks with the serverless driver of Neon', async () => {
    neonConfig.fetchEndpoint = `${of().broker_url}/sql`
    const sql = neon(of().connection_url, { authToken: of().broker_token })
    const [row] =
      await sql`select ${1}::int as a, ${'9007199254740993'}::int8 as b, ${null} as c, '\\xdead'::bytea as d,
      array[1, 2] as e, '{"x": 1}'::jsonb as f, '2026-01-02T03:04:05Z'::timestamptz as g, true as h`
    expect(row).toEqual({
      a: 1,
      b: '9007199254740993',
      c: null,
      d: Buffer.from('dead', 'hex'),
      e: [1, 2],
      f: { x: 1 },
      g: new Date('2026-01-02T03:04:05Z'),
      h: true,
    })
    const [, [counted] = []] = await sql.transaction([
      sql`insert into kept (id) values (3000)`,
      sql`select count(*)::int as n from kept`,
    ])
    expect(counted).toEqual({ n: 1002 })
    await expect(sql`select 1 / 0`).rejects.toMatchObject({ code: '22012' })
  })
}
