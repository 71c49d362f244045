// A database is prepared once. Each test gets a branch of it, so tests change what they like at the same time.
import assert from 'node:assert/strict'
import { type Database, Offshoot } from '@offshoot/sdk'

const client = new Offshoot()

async function count(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>('select count(*)::int as count from people')
  return rows[0]?.count ?? 0
}

const tests: Record<string, (database: Database) => Promise<void>> = {
  'deletes a person': async (database) => {
    await database.query('delete from people where name = $1', ['Ada'])
    assert.equal(await count(database), 999)
  },
  'adds a person': async (database) => {
    await database.query('insert into people (name) values ($1)', ['Grace'])
    assert.equal(await count(database), 1001)
  },
}

await using prepared = await client.databases.create({ label: 'prepared' })
await prepared.query('create table people (id serial primary key, name text)')
await prepared.query(
  "insert into people (name) select case n when 1 then 'Ada' else 'person ' || n end from generate_series(1, 1000) n",
)

await Promise.all(
  Object.entries(tests).map(async ([name, test]) => {
    await using branch = await prepared.branch({ label: name })
    await test(branch)
    console.log('passed:', name)
  }),
)
assert.equal(await count(prepared), 1000)
console.log('the prepared database is unchanged')
