/**
 * SQL over HTTP. It connects to the database's server as the owner's role, with exactly the owner's rights.
 * docs/adr/0013-databases.md explains why it runs in control and not in the guest.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { databaseUser, DATABASE_NAME } from '@offshoot/contract/database'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { DatabaseRow } from '../model/database-row.ts'
import { type AnswerMemory, AnswersMemory } from './answer-memory.ts'
import { type Connections, PER_DATABASE } from './connections.ts'
import { neonSql } from './neon.ts'
import { Refusal, refusalOf } from './refusal.ts'
import { exec, query, transaction } from './statement-routes.ts'
import type { Use } from './use.ts'

export interface BrokerRequest {
  readonly method: string
  /** The path below `proxy/`. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
  readonly hangUp: AbortSignal
}

export interface BrokerAnswer {
  readonly status: number
  readonly body: object
  /** Call it once the answer was sent. */
  readonly release: () => void
}

/** Concurrent requests in this process. {@link AnswersMemory} limits what their answers hold. */
const MAX_REQUESTS = 256
/** Of these, requests to the databases of one workspace. */
const PER_WORKSPACE = 64
/** Of these, requests to one database: as many may wait for a connection as there are connections. */
const PER_DATABASE_REQUESTS = 2 * PER_DATABASE
const PROBE_MS = 10_000
const METHOD_OF: Readonly<Record<string, 'GET' | 'POST'>> = {
  'v1/health': 'GET',
  'v1/info': 'GET',
  'v1/query': 'POST',
  'v1/exec': 'POST',
  'v1/transaction': 'POST',
  sql: 'POST',
}

export class Broker {
  readonly #connections: Connections
  readonly #ofWorkspace = new FairLimit(PER_WORKSPACE, MAX_REQUESTS)
  readonly #ofDatabase = new FairLimit(PER_DATABASE_REQUESTS, Number.POSITIVE_INFINITY)
  readonly #answers: AnswersMemory

  constructor(connections: Connections, answers = new AnswersMemory()) {
    this.#connections = connections
    this.#answers = answers
  }

  /** Returns every error of a database as an answer. @throws ApiError if its server cannot be reached */
  async answer(row: DatabaseRow, request: BrokerRequest): Promise<BrokerAnswer> {
    const inDatabase = this.#ofDatabase.take(row.id)
    const inWorkspace = inDatabase && this.#ofWorkspace.take(row.workspace_id)
    let release = nothing
    try {
      if (inWorkspace === null) throw new Refusal(429, 'too many requests at the same time')
      const { hangUp } = request
      const answer = this.#answers.open(row.workspace_id)
      release = answer.release
      const use: Use = (database, limitMs, work) => this.#connections.use(row, database, { limitMs, hangUp }, work)
      return { status: 200, body: await route(use, answer.memory, row, request), release }
    } catch (error) {
      release()
      const refusal = refusalOf(error)
      // Neon's driver reads `message`.
      const body = { error: refusal.message, message: refusal.message, ...refusal.fields }
      return { status: refusal.status, body, release }
    } finally {
      inWorkspace?.()
      inDatabase?.()
    }
  }
}

/** Releases what was never taken. */
function nothing(): void {}

async function route(
  use: Use,
  memory: AnswerMemory,
  row: DatabaseRow,
  { method, path, headers, body }: BrokerRequest,
): Promise<object> {
  const expected = METHOD_OF[path]
  if (expected === undefined) throw new Refusal(404, 'not found')
  if (method !== expected) throw new Refusal(405, 'method not allowed')
  switch (path) {
    case 'v1/health':
      return use(DATABASE_NAME, PROBE_MS, async (client) => client.query('select 1').then(() => ({ status: 'ok' })))
    case 'v1/info':
      return info(use, row)
    case 'v1/query':
      return query(use, memory, objectOf(body))
    case 'v1/exec':
      return exec(use, memory, objectOf(body))
    case 'v1/transaction':
      return transaction(use, memory, objectOf(body))
    default:
      return neonSql(use, memory, headers, objectOf(body))
  }
}

function objectOf(body: unknown): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = Buffer.isBuffer(body) ? JSON.parse(body.toString('utf8')) : null
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Falls through to the refusal below.
  }
  throw new Refusal(400, 'invalid json')
}

async function info(use: Use, row: DatabaseRow): Promise<object> {
  return use(DATABASE_NAME, PROBE_MS, async (client) => {
    const { rows } = await client.query<{ server_version: string; databases: string[]; max_connections: number }>(
      `select current_setting('server_version') as server_version, current_setting('max_connections')::int as max_connections,
         (select array_agg(datname::text order by datname) from pg_database where datallowconn and not datistemplate) as databases`,
    )
    return { user: databaseUser(row.id), database: DATABASE_NAME, ...rows[0] }
  })
}
