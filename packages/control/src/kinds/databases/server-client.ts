import { DATABASE_NAME } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import pg from 'pg'
import type { Fleet } from '../../fleet/fleet.ts'
import { type Reached, Tunnel } from './tunnel.ts'

/** Milliseconds to connect, a wake included. */
export const CONNECT_MS = 35_000
/** Milliseconds for a request to cancel to reach its server. */
const CANCEL_MS = 10_000

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

/** A client once it is connected, as far as its types leave it out. */
interface Connected {
  readonly processID: number
  readonly secretKey: number
}

/** PostgreSQL's code of a request to cancel (protocol 3.0, CancelRequest). */
const CANCEL_CODE = 80_877_102

/**
 * Asks the server to cancel what a connection runs, over a connection of its own, as the protocol has it. Nobody waits for it: a
 * server notices by itself only when it next writes that its client is gone.
 */
export function cancelStatement(fleet: Fleet, to: Reached, client: pg.ClientBase): void {
  const { processID, secretKey } = client as unknown as Connected
  const request = Buffer.alloc(16)
  request.writeInt32BE(request.length, 0)
  request.writeInt32BE(CANCEL_CODE, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const tunnel = new Tunnel(fleet, to)
  const impatience = setTimeout(() => tunnel.destroy(), CANCEL_MS)
  tunnel.once('close', () => clearTimeout(impatience))
  tunnel.on('error', () => undefined)
  tunnel.once('connect', () => tunnel.end(request))
  // The server answers nothing, and closes.
  tunnel.connect().resume()
}

/** By the server, or by the agent. */
function isSaid(error: unknown): boolean {
  return error instanceof pg.DatabaseError || error instanceof ApiError
}
