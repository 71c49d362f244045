/**
 * `POST sql`: the HTTP protocol of `@neondatabase/serverless`. Values are sent as the server's text; the driver parses
 * them as it does for values from a socket.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type pg from 'pg'
import { DATABASE_NAME } from '@offshoot/contract/database'
import { type Body, paramsOf, textOf } from './body-fields.ts'
import { DEFAULT_TIMEOUT_MS, GRACE_MS, MAX_TIMEOUT_MS } from './connections.ts'
import type { AnswerMemory } from './answer-memory.ts'
import type { Use } from './use.ts'
import { Refusal } from './refusal.ts'
import { runStatement, type Statement } from './run-statement.ts'

const MAX_STATEMENTS = 1_000
const ISOLATION: Readonly<Record<string, string>> = {
  ReadUncommitted: 'read uncommitted',
  ReadCommitted: 'read committed',
  RepeatableRead: 'repeatable read',
  Serializable: 'serializable',
}

export async function neonSql(
  use: Use,
  memory: AnswerMemory,
  headers: IncomingHttpHeaders,
  body: Body,
): Promise<object> {
  const isArray = headers['neon-array-mode'] === 'true'
  const database = databaseOf(headers['neon-connection-string'])
  if (body['queries'] === undefined) {
    const statement = statementOf(body)
    return use(database, DEFAULT_TIMEOUT_MS + GRACE_MS, async (client) => present(client, statement, memory, isArray))
  }
  const statements = batchOf(body)
  return use(database, MAX_TIMEOUT_MS, async (client) => {
    await client.query(beginning(headers))
    const results: object[] = []
    for (const statement of statements) results.push(await present(client, statement, memory, isArray))
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new Refusal(400, 'transaction was rolled back', { code: '25P02' })
    return { results }
  })
}

function statementOf(body: Body): Statement {
  return { sql: textOf(body, 'query'), params: paramsOf(body) }
}

function batchOf({ queries }: Body): readonly Statement[] {
  if (!Array.isArray(queries)) throw new Refusal(400, 'queries must be an array')
  if (queries.length > MAX_STATEMENTS) throw new Refusal(400, `at most ${MAX_STATEMENTS} queries`)
  return queries.map((each: unknown) => {
    if (typeof each !== 'object' || each === null) throw new Refusal(400, 'each query must be an object')
    return statementOf(each as Body)
  })
}

function beginning(headers: IncomingHttpHeaders): string {
  const isolation = ISOLATION[String(headers['neon-batch-isolation-level'] ?? '')]
  return [
    'begin',
    isolation === undefined ? '' : `isolation level ${isolation}`,
    headers['neon-batch-read-only'] === 'true' ? 'read only' : '',
    headers['neon-batch-deferrable'] === 'true' ? 'deferrable' : '',
  ].join(' ')
}

/**
 * The driver sends its whole connection string. Only the database's name matters, because the token has already granted
 * access.
 */
function databaseOf(text: string | string[] | undefined): string {
  if (typeof text !== 'string') return DATABASE_NAME
  try {
    return decodeURIComponent(new URL(text).pathname.slice(1)) || DATABASE_NAME
  } catch {
    throw new Refusal(400, 'Neon-Connection-String is no connection string')
  }
}

async function present(
  client: pg.ClientBase,
  statement: Statement,
  memory: AnswerMemory,
  isArray: boolean,
): Promise<object> {
  const { fields, rows, rowCount, command, truncated } = await runStatement(client, statement, memory)
  // The protocol cannot express a truncated result.
  if (truncated)
    throw new Refusal(400, 'result is too large: more rows or bytes than one answer may have', { code: '54000' })
  return {
    command,
    rowCount,
    fields,
    rows: isArray
      ? rows
      : rows.map((row) => Object.fromEntries(row.map((value, index) => [fields[index]?.name, value]))),
    rowAsArray: isArray,
    viaNeonProxy: false,
  }
}
