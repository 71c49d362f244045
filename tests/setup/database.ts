import { connect } from 'node:net'
import pg from 'pg'
import { call } from './http.ts'
import type { Offshoot } from './offshoot.ts'

/** The fields of the API's answer that tests use. */
export interface Database {
  readonly id: string
  readonly connection_url: string
  readonly broker_url: string
  readonly broker_token: string
  readonly username: string
  readonly password: string
  readonly host: string
  readonly port: number
}

/** @throws Error with the answer if there is no database */
export async function createDatabase(offshoot: Pick<Offshoot, 'request'>, body: object = {}): Promise<Database> {
  const answer = await offshoot.request('POST', '/v1/databases', { body })
  if (answer.status !== 201) throw new Error(`create of a database answered ${answer.status}: ${answer.text}`)
  return answer.body as Database
}

/** As libpq with `sslmode=require`: encrypted, without verification of the certificate. */
export const options = (url: string): pg.ClientConfig => ({
  connectionString: url.replace('sslmode=require', 'sslmode=no-verify'),
  connectionTimeoutMillis: 60_000,
})

export async function connected<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  more: pg.ClientConfig = {},
): Promise<T> {
  const client = new pg.Client({ ...options(url), ...more })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export const value = async (url: string, sql: string): Promise<unknown> =>
  connected(url, async (client) => Object.values((await client.query(sql)).rows[0] as object)[0])

export const refusal = (url: string) => connected(url, async () => null).catch((error: pg.DatabaseError) => error)

/** Sends a cancel request without encryption. */
export async function cancel(of: Database, processId: number, secretKey: number): Promise<void> {
  const packet = Buffer.alloc(16)
  ;[16, 80_877_102, processId, secretKey].forEach((each, index) => packet.writeInt32BE(each, index * 4))
  await new Promise((resolve, reject) => {
    const socket = connect(of.port, of.host, () => socket.write(packet))
    socket.once('error', reject).once('close', resolve).resume()
  })
}

/** Sends a request to the broker; without a body, a GET. */
export const broker = (of: Database, path: string, body?: unknown, token = of.broker_token) =>
  call(body === undefined ? 'GET' : 'POST', `${of.broker_url}/${path}`, {
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body }),
  })
