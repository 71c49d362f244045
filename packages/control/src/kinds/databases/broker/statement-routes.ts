import type pg from 'pg'
import { DATABASE_NAME } from '@offshoot/contract/database'
import { type Body, optionalInteger, optionalText, paramsOf, textOf } from './body-fields.ts'
import type { AnswerMemory } from './answer-memory.ts'
import type { Use } from './use.ts'
import { DEFAULT_TIMEOUT_MS, GRACE_MS, MAX_TIMEOUT_MS } from './connections.ts'
import { jsonValue } from './json-value.ts'
import { Refusal, refusalOf } from './refusal.ts'
import { MAX_ROWS, runStatement, type Statement } from './run-statement.ts'
import { typeNames } from './type-names.ts'

const DEFAULT_ROWS = 1_000
/** Statements of one transaction. */
const MAX_STATEMENTS = 1_000

/** `POST v1/query`: returns the rows of one statement. */
export async function query(use: Use, memory: AnswerMemory, body: Body): Promise<object> {
  const statement = statementOf(body)
  const maxRows = optionalInteger(body, 'max_rows', 1, MAX_ROWS) ?? DEFAULT_ROWS
  return onConnection(use, body, null, async (client, startedAt) => {
    const result = await present(client, statement, memory, maxRows)
    return { ...result, duration_ms: since(startedAt) }
  })
}

/** `POST v1/exec`: runs one statement, or several without parameters, and returns the row count. */
export async function exec(use: Use, memory: AnswerMemory, body: Body): Promise<object> {
  const statement = statementOf(body)
  return onConnection(use, body, null, async (client, startedAt) => {
    const { rowCount } = await runStatement(client, statement, memory, 0)
    return { rows_affected: rowCount ?? 0, duration_ms: since(startedAt) }
  })
}

/** `POST v1/transaction`: runs all of the statements, or none. */
export async function transaction(use: Use, memory: AnswerMemory, body: Body): Promise<object> {
  const { statements } = body
  if (!Array.isArray(statements) || statements.length === 0)
    throw new Refusal(400, 'statements must be an array with at least one statement')
  if (statements.length > MAX_STATEMENTS) throw new Refusal(400, `at most ${MAX_STATEMENTS} statements`)
  const parsed = statements.map((each: unknown, index) => {
    if (typeof each !== 'object' || each === null) throw new Refusal(400, `statements[${index}] must be an object`)
    return statementOf(each as Body)
  })
  const maxRows = optionalInteger(body, 'max_rows', 1, MAX_ROWS) ?? DEFAULT_ROWS
  return onConnection(use, body, MAX_TIMEOUT_MS, async (client, startedAt) => {
    await client.query('begin')
    const results: object[] = []
    for (const [index, statement] of parsed.entries()) {
      const statementAt = performance.now()
      const result = await present(client, statement, memory, maxRows).catch((error: unknown) => {
        throw refusalOfStatement(error, index)
      })
      results.push({ ...result, duration_ms: since(statementAt) })
    }
    await commit(client)
    return { results, duration_ms: since(startedAt) }
  })
}

/** `position` counts within one statement, so the caller must know which one. */
function refusalOfStatement(error: unknown, statement: number): Refusal {
  const { status, message, fields } = refusalOf(error)
  return new Refusal(status, message, { ...fields, statement })
}

/**
 * If the transaction has failed inside a statement, for example through a caught error, COMMIT answers ROLLBACK instead
 * of an error.
 */
async function commit(client: pg.ClientBase): Promise<void> {
  const { command } = await client.query('commit')
  if (command !== 'COMMIT') throw new Refusal(400, 'transaction was rolled back', { code: '25P02' })
}

function statementOf(body: Body): Statement {
  return { sql: textOf(body, 'sql'), params: paramsOf(body) }
}

/** @param limitMs for the whole request; `null`: the limit of one statement, which the server should enforce first */
async function onConnection(
  use: Use,
  body: Body,
  limitMs: number | null,
  work: (client: pg.ClientBase, startedAt: number) => Promise<object>,
): Promise<object> {
  const database = optionalText(body, 'database') ?? DATABASE_NAME
  const timeoutMs = optionalInteger(body, 'timeout_ms', 1, MAX_TIMEOUT_MS) ?? DEFAULT_TIMEOUT_MS
  const startedAt = performance.now()
  return use(database, limitMs ?? timeoutMs + GRACE_MS, async (client) => {
    if (timeoutMs !== DEFAULT_TIMEOUT_MS) await client.query(`set statement_timeout = ${timeoutMs}`)
    return work(client, startedAt)
  })
}

async function present(
  client: pg.ClientBase,
  statement: Statement,
  memory: AnswerMemory,
  maxRows: number,
): Promise<object> {
  const { fields, rows, truncated, command, rowCount } = await runStatement(client, statement, memory, maxRows)
  const names = await typeNames(
    client,
    fields.map(({ dataTypeID }) => dataTypeID),
  )
  const types = fields.map(({ dataTypeID }) => dataTypeID)
  return {
    columns: fields.map(({ name, dataTypeID }) => ({ name, type: names.get(dataTypeID) ?? String(dataTypeID) })),
    rows: rows.map((row) => row.map((value, index) => jsonValue(value, types[index] ?? 0))),
    count: rows.length,
    truncated,
    command,
    rows_affected: rowCount,
  }
}

function since(startedAt: number): number {
  return Math.round(performance.now() - startedAt)
}
