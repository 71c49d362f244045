import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startMigratedPostgres, type TestPostgres } from '../test/postgres.ts'

async function query({ host, port, user, password }: TestPostgres, text: string) {
  const client = new Client({ host, port, user, password, database: 'postgres' })
  await client.connect()
  try {
    return (await client.query(text)).rows[0]
  } finally {
    await client.end()
  }
}

async function incarnationOf(server: TestPostgres): Promise<string> {
  return (await query(server, 'select database_incarnation() as is')).is
}

describe('the incarnation of a database', () => {
  let server: TestPostgres
  beforeEach(async () => {
    server = await startMigratedPostgres()
  })
  afterEach(() => server.stop('SIGINT'))

  it('stays the same after a restart and after a crash', async () => {
    const before = await incarnationOf(server)
    await server.restart('SIGINT')
    expect(await incarnationOf(server)).toBe(before)
    await server.restart('SIGQUIT')
    expect(await incarnationOf(server)).toBe(before)
  })

  it('changes as soon as a replica replaces the server', async () => {
    const before = await incarnationOf(server)
    const replica = await server.replica()
    try {
      await query(replica, 'select pg_promote()')
      expect(await incarnationOf(replica)).not.toBe(before)
    } finally {
      await replica.stop('SIGINT')
    }
  })

  it('changes if a dump makes the table anew', async () => {
    const before = await incarnationOf(server)
    await query(server, 'create table anew (like sandbox_copies including all)')
    await query(server, 'alter table sandbox_copies rename to earlier')
    await query(server, 'alter table anew rename to sandbox_copies')
    expect(await incarnationOf(server)).not.toBe(before)
  })

  it('is known to a role without privileges', async () => {
    const before = await incarnationOf(server)
    await query(server, `create role plain login password '${server.password}'`)
    expect(await incarnationOf({ ...server, user: 'plain' })).toBe(before)
  })
})
