import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createDatabaseBody, databaseOfUser, databaseUser, patchDatabaseBody } from './database.ts'

describe("the name of a database's owner", () => {
  it('says which database it is', () => {
    const id = randomUUID()
    expect(databaseUser(id)).toMatch(/^db_[0-9a-f]{32}$/)
    expect(databaseOfUser(databaseUser(id))).toBe(id)
  })

  it.each([
    'postgres',
    'db_',
    'db_0',
    `db_${'g'.repeat(32)}`,
    `db_${'A'.repeat(32)}`,
    `xdb_${'0'.repeat(32)}`,
    `db_${'0'.repeat(33)}`,
  ])('%s is none', (user) => expect(databaseOfUser(user)).toBeNull())
})

const refusal = (schema: typeof createDatabaseBody | typeof patchDatabaseBody, body: object) =>
  schema.safeParse(body).error?.issues[0]?.message

describe('bodies', () => {
  it.each([
    [{ size: '2g' }, 'size must be one of 1g, 4g, 16g'],
    [{ size: 1 }, 'size must be one of 1g, 4g, 16g'],
    [{ label: 1 }, 'label must be a string'],
    [{ label: 'x'.repeat(129) }, 'label must be at most 128 characters'],
  ])('of a create: %j is refused', (body, message) => expect(refusal(createDatabaseBody, body)).toBe(message))

  it.each([
    [{ idle_timeout_seconds: 59 }, 'idle_timeout_seconds must be >= 60'],
    [{ idle_timeout_seconds: '60' }, 'idle_timeout_seconds must be an integer'],
    [{ always_on: 'yes' }, 'always_on must be a boolean'],
  ])('of a change: %j is refused', (body, message) => expect(refusal(patchDatabaseBody, body)).toBe(message))

  it('may be empty, and null is absent', () => {
    expect(createDatabaseBody.parse({})).toEqual({})
    expect(createDatabaseBody.parse({ label: null, size: null })).toEqual({})
  })
})
