import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type TestPostgres } from '../../../test/postgres.ts'
import { AnswersMemory } from './answer-memory.ts'
import { runStatement, type Statement } from './run-statement.ts'

let postgres: TestPostgres
let client: pg.Client

beforeAll(async () => {
  postgres = await startPostgres()
  const { host, port, user, password } = postgres
  client = new pg.Client({ host, port, user, password, database: 'postgres' })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await postgres.stop('SIGINT')
})

const run = (statement: Statement, maxRows?: number) =>
  runStatement(client, statement, new AnswersMemory().open('w').memory, maxRows)

describe('a statement over HTTP', () => {
  it('gives what the server writes, of several statements in one text the last', async () => {
    expect(await run({ sql: 'select $1::int8 as n, null as x', params: ['9007199254740993'] })).toMatchObject({
      rows: [['9007199254740993', null]],
      rowCount: 1,
      command: 'SELECT',
      truncated: false,
    })
    const several =
      'create temporary table t (n int); insert into t select generate_series(1, 3); delete from t where n < 3'
    expect(await run({ sql: several })).toMatchObject({ rowCount: 2, command: 'DELETE' })
    expect(await run({ sql: `select 1 as a, 2 as b; select 'x' as c` })).toMatchObject({
      fields: [{ name: 'c' }],
      rows: [['x']],
      rowCount: 1,
    })
    expect(await run({ sql: 'select generate_series(1, 3); select 4' }, 1)).toMatchObject({
      rows: [['4']],
      truncated: false,
    })
    expect(await run({ sql: 'select 1; set work_mem = 1024' })).toMatchObject({ rows: [], fields: [] })
    expect(await run({ sql: '-- nothing' })).toMatchObject({ rows: [], fields: [] })
  })

  it('keeps as many rows as are wanted, and comes to its end', async () => {
    const sql = 'insert into t select generate_series(1, 5) returning n'
    expect(await run({ sql }, 2)).toMatchObject({ rows: [['1'], ['2']], truncated: true, rowCount: 5 })
  })

  it.each(['copy t from stdin', 'copy t to stdout', 'select 1; copy t to stdout'])(
    'copies nothing from a client or to one: %s',
    async (sql) => {
      await expect(run({ sql })).rejects.toMatchObject({ status: 400, fields: { code: '0A000' } })
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    },
  )

  it('copies between files of the server, and says how many rows', async () => {
    const sql = `copy t to program 'cat > /dev/null'`
    expect(await run({ sql })).toMatchObject({ command: 'COPY', rowCount: 6 })
  })
})
