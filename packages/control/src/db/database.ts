import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'

export interface DatabaseAddress {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

export interface Database {
  /** Statements of the request path: named, so that each connection prepares them once. */
  readonly pool: pg.Pool
  /** The same pool, for accounts, migrations and queries that are put together at run time. */
  readonly db: Kysely<never>
  close(): Promise<void>
}

const MAX_CONNECTIONS = 20
const CONNECT_TIMEOUT_MS = 5_000
/** No statement of ours scans more than one workspace's rows: one that takes longer than this is stuck. */
const STATEMENT_TIMEOUT_MS = 15_000

/** PostgreSQL's type number of bigint. Ours (event numbers, bytes) stay below 2^53. */
const INT8 = 20

/** What a connection needs, shared by the pool and by {@link ProcessLock}'s own connection. */
export function clientConfig(address: DatabaseAddress): pg.ClientConfig {
  return {
    ...address,
    application_name: 'offshoot-control',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
    keepAlive: true,
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === INT8 && format !== 'binary'
          ? Number
          : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  }
}

/** @param onError told of a connection that broke while idle; the pool replaces it */
export function openDatabase(address: DatabaseAddress, onError: (error: Error) => void): Database {
  const pool = new pg.Pool({ ...clientConfig(address), max: MAX_CONNECTIONS, min: 2, idleTimeoutMillis: 60_000 })
  pool.on('error', onError)
  const db = new Kysely<never>({ dialect: new PostgresDialect({ pool }) })
  return { pool, db, close: () => db.destroy() }
}
