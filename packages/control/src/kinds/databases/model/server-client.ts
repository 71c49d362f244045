import { DATABASE_NAME } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import pg from 'pg'
import type { Fleet } from '../../../fleet/fleet.ts'
import { type Reached, Tunnel } from './tunnel.ts'

/** Milliseconds to connect, including a wake. */
const CONNECT_MS = 35_000
/** Milliseconds for a cancel request to reach its server. */
const CANCEL_MS = 10_000

export interface As {
  readonly user: string
  readonly password: string
  readonly database?: string
}

/** The driver's settings for a database's server, which it reaches through the agent's port stream. */
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
    // A tunnel has the parts of a socket that the driver uses.
    stream: () => new Tunnel(fleet, to),
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'offshoot',
  }
}

/** Opens one connection for the duration of the work. @throws ApiError if the server cannot be reached */
export async function withClient<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config)
  client.on('error', () => undefined)
  try {
    await traceStep('connect to the database', () => client.connect())
    return await work(client)
  } catch (error) {
    throw isSaid(error) ? error : new ApiError('agentUnreachable', {}, { cause: error })
  } finally {
    client.end().catch(() => undefined)
  }
}

/** Fields of a connected client that are missing in its type. */
interface Connected {
  readonly processID: number
  readonly secretKey: number
}

/** The code of a CancelRequest (PostgreSQL protocol 3.0). */
const CANCEL_CODE = 80_877_102

/**
 * Cancels a connection's statement through a second connection, as the protocol requires. Not awaited. It is needed
 * because the server would notice a closed connection only at its next write.
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
  // The server sends no answer and closes the connection.
  tunnel.connect().resume()
}

/** Tells errors of the server or the agent from broken connections. */
function isSaid(error: unknown): boolean {
  return error instanceof pg.DatabaseError || error instanceof ApiError
}
