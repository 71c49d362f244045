import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { FragileAddress } from '../../test/fragile-address.ts'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'
import { isDatabaseUnreachable } from './database-unreachable.ts'
import { outliveBrokenConnections } from './outlive-broken-connections.ts'
import { transaction } from './transaction.ts'

describe('a transaction', () => {
  let postgres: TestPostgres
  let address: FragileAddress
  let pool: Pool

  beforeAll(async () => {
    postgres = await startPostgres()
    address = await FragileAddress.before(postgres)
    const { user, password } = postgres
    const { host, port } = address
    pool = new Pool({ host, port, user, password, database: 'postgres', query_timeout: 1_000 })
    outliveBrokenConnections(pool)
  })
  afterAll(async () => {
    await pool.end()
    address.close()
    await postgres.stop('SIGINT')
  })

  it('is rolled back after an error, and its connection is used again', async () => {
    await transaction(pool, (client) => client.query('create table kept (at int)'))
    const failing = transaction(pool, async (client) => {
      await client.query('insert into kept values (1)')
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect((await pool.query('select from kept')).rowCount).toBe(0)
    expect(pool.totalCount).toBe(1)
  })

  it('closes a connection on which the server does not answer, and asks nothing more there', async () => {
    const asked: unknown[] = []
    const failure = await transaction(pool, async (client) => {
      address.lose('toTarget')
      const query = client.query.bind(client) as (...args: unknown[]) => never
      vi.spyOn(client, 'query').mockImplementation((...args: unknown[]) => {
        asked.push(args[0])
        return query(...args)
      })
      await client.query('select 1')
    }).catch((error: unknown) => error)
    expect(isDatabaseUnreachable(failure)).toBe(true)
    expect(asked).toEqual(['select 1'])
    expect(pool.totalCount).toBe(0)
    address.mend()
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })
})
