import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'
import { type Database, openDatabase } from './database.ts'
import { outliveBrokenConnections } from './outlive-broken-connections.ts'

let postgres: TestPostgres
let database: Database

beforeAll(async () => {
  postgres = await startPostgres()
  database = openDatabase({ ...postgres, database: 'postgres' }, () => undefined)
})
afterAll(async () => {
  await database.pool.end()
  await postgres.stop('SIGINT')
})

it('leaves a process alive whose connection breaks in use, and the next request gets another', async () => {
  const { pool } = database
  const client = await pool.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await ended
  await expect(client.query('select 1')).rejects.toThrow(/not queryable/)
  client.release(true)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

it('leaves a process alive whose idle connection breaks, also for a pool that does not log it', async () => {
  const idle = new Pool({ ...postgres, database: 'postgres' })
  outliveBrokenConnections(idle)
  const { rows } = await idle.query<{ pid: number }>('select pg_backend_pid() as pid')
  const removed = new Promise((resolve) => idle.once('remove', resolve))
  await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await removed
  expect((await idle.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await idle.end()
})
