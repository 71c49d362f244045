import { Kysely, PostgresDialect } from 'kysely'
import { type ClientConfig, types } from 'pg'
import { outliveBrokenConnections } from './outlive-broken-connections.ts'
import { TenantPool } from './tenant-pool.ts'

export interface DatabaseAddress {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

export interface Database {
  /** Runs the statements of requests. They are named, so that each connection prepares them once. */
  readonly pool: TenantPool
  /** The same pool, for accounts, migrations and queries that are composed at run time. */
  readonly db: Kysely<never>
  close(): Promise<void>
}

const MAX_CONNECTIONS = 20
const CONNECT_TIMEOUT_MS = 5_000
/** No statement scans more than one workspace's rows, so a statement that takes longer than this is stuck. */
const STATEMENT_TIMEOUT_MS = 15_000

/** Bigints of this schema (event numbers, bytes) stay below 2^53. */
const INT8 = types.builtins.INT8

/** Connection settings, shared by the pool and by {@link ProcessLock}'s own connection. */
export function clientConfig(address: DatabaseAddress): ClientConfig {
  return {
    ...address,
    application_name: 'offshoot-control',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
    keepAlive: true,
    types: {
      getTypeParser: ((oid: Parameters<typeof types.getTypeParser>[0], format?: 'text' | 'binary') =>
        oid === INT8 && format !== 'binary' ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  }
}

/** @param onError called when an idle connection breaks; the pool replaces the connection */
export function openDatabase(address: DatabaseAddress, onError: (error: Error) => void): Database {
  const pool = new TenantPool({ ...clientConfig(address), max: MAX_CONNECTIONS, min: 2, idleTimeoutMillis: 60_000 })
  outliveBrokenConnections(pool, onError)
  const db = new Kysely<never>({ dialect: new PostgresDialect({ pool }) })
  return { pool, db, close: () => pool.end() }
}
