import { BadRequestError, NotFoundError, Offshoot as Client } from '@offshoot/sdk'
import { expect, it } from 'vitest'
import type { Database } from './database.ts'
import { examplesOf, runExample } from './documented-examples.ts'
import type { Offshoot } from './offshoot.ts'

/** The SDK's functions for databases. */
export function sdkDatabaseCases(databaseOf: () => Database, offshootOf: () => Offshoot): void {
  const clientOf = () => {
    const { base_url: baseUrl, api_key: apiKey } = offshootOf().credentials
    return new Client({ baseUrl, apiKey })
  }

  it('are found, changed, queried, and describe themselves to the SDK', async () => {
    const client = clientOf()
    const database = await client.databases.get(databaseOf().id)
    expect(database.info).toMatchObject({ id: databaseOf().id, connectionUrl: databaseOf().connection_url })
    expect(await database.connection()).toMatchObject({ brokerToken: databaseOf().broker_token })
    expect((await database.update({ label: 'of the SDK' })).info.label).toBe('of the SDK')
    expect((await client.databases.list({ label: 'of the SDK' }).all()).map(({ id }) => id)).toEqual([database.id])
    const sql = 'select $1::int as snake_case, $2::text as "Text", 9007199254740993 as big'
    expect(await database.query<{ snake_case: number }>(sql, [7, 'ä'])).toMatchObject({
      rows: [{ snake_case: 7, Text: 'ä', big: '9007199254740993' }],
      columns: [{ name: 'snake_case', type: 'int4' }, { name: 'Text' }, { name: 'big', type: 'int8' }],
      isTruncated: false,
    })
    const many = await database.query('select generate_series(1, 3) as n', [], { maxRows: 2, statementTimeoutMs: 5000 })
    expect([many.rows, many.isTruncated]).toEqual([[{ n: 1 }, { n: 2 }], true])
    const failure: unknown = await database.query('select nothing').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(BadRequestError)
    expect((failure as BadRequestError).body['code']).toBe('42703')
    const both = await database.transaction([
      'drop table if exists of_sdk',
      'create table of_sdk (id int)',
      { sql: 'insert into of_sdk values ($1)', params: [1] },
      'select id from of_sdk',
    ])
    expect(both.map(({ rows }) => rows)).toEqual([[], [], [], [{ id: 1 }]])
    await expect(database.transaction(['drop table of_sdk', 'select nothing'])).rejects.toBeInstanceOf(BadRequestError)
    expect((await database.query('select id from of_sdk')).rows).toEqual([{ id: 1 }])
    expect(await database.stats()).toMatchObject({ maxConnections: 100, archive: { state: expect.any(String) } })
    const lines = await database.logs({ tail: 2 })
    expect(lines).toHaveLength(2)
    for await (const line of database.followLogs({ tail: 2 })) {
      expect(line).toEqual(lines[0])
      break
    }
    await expect(client.databases.create({ size: '2g' as '1g' })).rejects.toBeInstanceOf(BadRequestError)
    await database.update({ label: 'first' })
  })

  it('are branched and backed up by the SDK, and deleted at the end', { tags: ['long'] }, async () => {
    const client = clientOf()
    const database = await client.databases.get(databaseOf().id)
    const branch = await database.branch({ label: 'a branch' })
    expect(branch.info).toMatchObject({ parentId: database.id, label: 'a branch' })
    expect((await branch.query('select id from of_sdk')).rows).toEqual([{ id: 1 }])
    const { password } = branch.info
    expect((await branch.resetCredentials()).info.password).not.toBe(password)
    expect((await branch.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    const backup = await branch.backups.create()
    expect((await branch.backups.list({ origin: 'request' }).all()).map(({ id }) => id)).toEqual([backup.id])
    await branch.backups.delete(backup)
    await branch.backups.delete(backup.id)
    await client.databases.delete(branch.id)
    await expect(branch.refresh()).rejects.toBeInstanceOf(NotFoundError)
    await database[Symbol.asyncDispose]()
    expect((await database.refresh()).status).toBe('running')
  })

  it('are used as the documentation shows', { tags: ['long'] }, async () => {
    const example = examplesOf('docs/sdk.md').find(({ section }) => section === 'Databases')
    const ran = await runExample(example?.code ?? '', offshootOf())
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
    expect(ran.stdout).toMatch(/^9\.50 postgresql:/)
  })
}
