import { createHash } from 'node:crypto'
import type { DBAdapter, Where } from 'better-auth'

type Row = Record<string, unknown>

/**
 * Stores the hash of a session's token where the accounts library would store the token, so that a copy of the database
 * opens no session.
 *
 * The library looks sessions up by their token or by their user. Only in the first case can the adapter return the
 * token, because the caller supplied it. Lists of sessions therefore contain hashes, which cannot end a session, so
 * those routes are closed.
 */
export function hashedSessions(inner: DBAdapter): DBAdapter {
  return { ...hashing(inner), transaction: (work) => inner.transaction((trx) => work(hashing(trx))) }
}

function hashing<Inner extends Omit<DBAdapter, 'transaction'>>(inner: Inner): Inner {
  return {
    ...inner,
    create: async (query: Parameters<Inner['create']>[0]) => {
      const { token } = query.data as Row
      if (query.model !== 'session' || typeof token !== 'string') return inner.create(query)
      const row = await inner.create({ ...query, data: { ...query.data, token: hash(token) } })
      return { ...(row as Row), token }
    },
    findOne: async (query: Parameters<Inner['findOne']>[0]) =>
      withToken(query, await inner.findOne<Row>(hashed(query))),
    findMany: (query: Parameters<Inner['findMany']>[0]) => inner.findMany(hashed(query)),
    count: (query: Parameters<Inner['count']>[0]) => inner.count(hashed(query)),
    update: async (query: Parameters<Inner['update']>[0]) => withToken(query, await inner.update<Row>(hashed(query))),
    updateMany: (query: Parameters<Inner['updateMany']>[0]) => inner.updateMany(hashed(query)),
    delete: (query: Parameters<Inner['delete']>[0]) => inner.delete(hashed(query)),
    deleteMany: (query: Parameters<Inner['deleteMany']>[0]) => inner.deleteMany(hashed(query)),
    consumeOne: async (query: Parameters<Inner['consumeOne']>[0]) =>
      withToken(query, await inner.consumeOne<Row>(hashed(query))),
  }
}

interface Query {
  readonly model: string
  readonly where?: Where[] | undefined
}

function hashed<Q extends Query>(query: Q): Q {
  if (query.model !== 'session' || query.where === undefined) return query
  const where = query.where.map((clause) =>
    clause.field === 'token' ? { ...clause, value: hashValue(clause.value) } : clause,
  )
  return { ...query, where }
}

function withToken(query: Query, row: Row | null): Row | null {
  if (query.model !== 'session' || row === null) return row
  const asked = query.where?.find(({ field }) => field === 'token')?.value
  return typeof asked === 'string' ? { ...row, token: asked } : row
}

function hashValue(value: Where['value']): Where['value'] {
  if (typeof value === 'string') return hash(value)
  return Array.isArray(value) ? value.map((each) => hash(String(each))) : value
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
