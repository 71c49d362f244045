import type pg from 'pg'
import type { Fleet } from '../../fleet/fleet.ts'
import { ADMIN } from './claim-database.ts'
import { clientConfig, withClient } from './model/server-client.ts'
import type { Reached } from './model/tunnel.ts'

/** Maximum length of a stored error text, in characters. */
const SAID_CHARS = 500

const DATABASES = `select datname from pg_database where datallowconn and datname <> 'template0' order by datname`
/** Installing an extension is safe: the server is a copy that no client uses. */
const PREPARE = `create extension if not exists amcheck`
const SCHEMA = `select set_config('search_path', quote_ident(n.nspname) || ', pg_catalog', false)
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'amcheck'`
/** Fails at the first index that is out of order or lacks an entry for a row of its table. */
const INDEXES = `select count(bt_index_check(c.oid::regclass, true)) from pg_class c join pg_index i on i.indexrelid = c.oid
  join pg_am a on a.oid = c.relam and a.amname = 'btree'
  where c.relkind = 'i' and c.relpersistence = 'p' and i.indisvalid and i.indisready`
/** Reads every page, so that the server verifies all checksums. */
const TABLES = `select c.oid::regclass::text as name, v.blkno::text, v.msg from pg_class c
  join pg_am a on a.oid = c.relam and a.amname = 'heap', lateral verify_heapam(c.oid::regclass) v
  where c.relkind in ('r', 'm', 't') and c.relpersistence = 'p' limit 1`

/**
 * Checks every table and every B-tree index in all databases of a server.
 * @returns the damage found; `null` if there is none
 * @throws ApiError if the server cannot be reached
 */
export async function checkServer(fleet: Fleet, to: Reached, adminToken: string, signal: AbortSignal) {
  const as = { user: ADMIN, password: adminToken }
  const within = <T>(database: string, work: (client: pg.Client) => Promise<T>) =>
    withClient(clientConfig(fleet, to, { ...as, database }), async (client) => {
      const leave = () => void client.end().catch(() => undefined)
      signal.addEventListener('abort', leave, { once: true })
      return work(client).finally(() => signal.removeEventListener('abort', leave))
    })
  const names = await within('postgres', async (client) => (await client.query<{ datname: string }>(DATABASES)).rows)
  for (const { datname } of names) {
    signal.throwIfAborted()
    const wrong = await within(datname, checkDatabase)
    if (wrong !== null) return `${datname}: ${wrong}`.slice(0, SAID_CHARS)
  }
  return null
}

async function checkDatabase(client: pg.Client): Promise<string | null> {
  await client.query(PREPARE)
  await client.query(SCHEMA)
  try {
    const { rows } = await client.query<{ name: string; blkno: string; msg: string }>(TABLES)
    const [first] = rows
    if (first !== undefined) return `table ${first.name}, block ${first.blkno}: ${first.msg}`
    await client.query(INDEXES)
    return null
  } catch (error) {
    if (isDamage(error)) return error.message
    throw error
  }
}

/** PostgreSQL's error class XX: data corrupted, index corrupted, internal error. */
function isDamage(error: unknown): error is Error {
  return error instanceof Error && String((error as { code?: unknown }).code).startsWith('XX')
}
