import type { DatabaseAddress } from '@offshoot/contract/database-address'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, type ClientConfig, type PoolConfig, types } from 'pg'
import { outliveBrokenConnections } from './outlive-broken-connections.ts'
import { TenantPool } from './tenant-pool.ts'

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

/** Settings of a connection to the server itself, which keeps what it prepares, locks and listens to. */
export function clientConfig({ host, port, user, password, database }: DatabaseAddress): ClientConfig {
  return {
    host,
    port,
    user,
    password,
    database,
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

/**
 * Behind a pooler, each transaction may run on another connection of the server, which has not prepared the statement.
 * Older poolers do not know names of statements.
 */
class PooledClient extends Client {
  override readonly query: Client['query'] = (...[query, ...rest]: unknown[]): never => {
    const send = super.query.bind(this) as (...args: unknown[]) => never
    const isNamed = typeof query === 'object' && query !== null && 'name' in query
    return send(isNamed ? { ...query, name: undefined } : query, ...rest)
  }
}

/** A pooler refuses settings at the start of a connection: the limit of statements is one of the user's. */
function poolConfig(address: DatabaseAddress): PoolConfig {
  const direct = clientConfig(address)
  if (address.pooler === undefined) return direct
  return { ...direct, ...address.pooler, statement_timeout: false, Client: PooledClient }
}

/** @param onError called when an idle connection breaks; the pool replaces the connection */
export function openDatabase(address: DatabaseAddress, onError: (error: Error) => void): Database {
  const pool = new TenantPool({ ...poolConfig(address), max: MAX_CONNECTIONS, min: 2, idleTimeoutMillis: 60_000 })
  outliveBrokenConnections(pool, onError)
  const db = new Kysely<never>({ dialect: new PostgresDialect({ pool }) })
  return { pool, db, close: () => pool.end() }
}
