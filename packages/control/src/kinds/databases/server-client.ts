import { DATABASE_NAME } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import pg from 'pg'
import type { Fleet } from '../../fleet/fleet.ts'
import { type Reached, Tunnel } from './tunnel.ts'

/** Milliseconds to connect, a wake included. */
const CONNECT_MS = 35_000

export interface As {
  readonly user: string
  readonly password: string
  readonly database?: string
}

/** How the driver reaches the server of a database: as itself, through its machine's channel. */
export function clientConfig(
  fleet: Fleet,
  to: Reached,
  { user, password, database = DATABASE_NAME }: As,
): pg.ClientConfig {
  return {
    user,
    password,
    database,
    host: 'tunnel',
    // The driver takes what it asks of sockets; a tunnel has that.
    stream: () => new Tunnel(fleet, to),
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'offshoot',
  }
}

/** One connection, for as long as the work takes. @throws ApiError where the machine cannot be reached */
export async function withClient<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config)
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } catch (error) {
    throw isSaid(error) ? error : new ApiError('agentUnreachable', {}, { cause: error })
  } finally {
    client.end().catch(() => undefined)
  }
}

/** By the server, or by the agent. */
function isSaid(error: unknown): boolean {
  return error instanceof pg.DatabaseError || error instanceof ApiError
}
