import { ApiError, type DatabaseInfo, type Offshoot } from '@offshoot/sdk'
import { offsetOfPosition, type StatementText } from './statements.ts'

/** Rows that are shown of each statement. The service sends them in one answer. */
const MAX_ROWS = 1000
/** Milliseconds for one statement. The request has a little longer, because the server's own error says more. */
const STATEMENT_MS = 60_000
const REQUEST_MS = STATEMENT_MS + 10_000

interface ResultColumn {
  readonly name: string
  readonly type: string
}

/** What one statement has returned. Columns may have the same name, so rows are arrays. */
export interface Result {
  readonly columns: readonly ResultColumn[]
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
  /** E.g. `SELECT` or `UPDATE`. */
  readonly command: string
  readonly rows_affected: number | null
  readonly duration_ms: number
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined
}

/** Sends a request to the database's broker, which takes its own token only. */
async function ask<T>(
  api: Offshoot,
  { id, brokerToken }: DatabaseInfo,
  path: string,
  { body, signal }: RunOptions & { readonly body: object },
): Promise<T> {
  const response = await api.fetch('POST /v1/databases/{id}/proxy/{path}', {
    path: { id, path },
    headers: { authorization: `Bearer ${brokerToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, timeout_ms: STATEMENT_MS, max_rows: MAX_ROWS }) as never,
    timeoutMs: REQUEST_MS,
    signal,
  })
  return (await response.json()) as T
}

/** Runs one statement alone, or several as one transaction. */
export async function runSql(
  api: Offshoot,
  database: DatabaseInfo,
  statements: readonly Pick<StatementText, 'sql'>[],
  options: RunOptions = {},
): Promise<readonly Result[]> {
  const [only, ...rest] = statements.map(({ sql }) => ({ sql }))
  if (only === undefined) return []
  if (rest.length === 0) return [await ask<Result>(api, database, 'v1/query', { ...options, body: only })]
  const body = { statements: [only, ...rest] }
  return (await ask<{ results: Result[] }>(api, database, 'v1/transaction', { ...options, body })).results
}

/** The rows of one statement as objects. */
export async function readRows<Row>(api: Offshoot, database: DatabaseInfo, sql: string): Promise<readonly Row[]> {
  const [result] = await runSql(api, database, [{ sql }])
  if (result === undefined) return []
  return result.rows.map((row) => Object.fromEntries(result.columns.map(({ name }, at) => [name, row[at]])) as Row)
}

/** Where in the text of the editor an error of PostgreSQL is; `null` if it names no place. */
export function placeOfError(error: unknown, statements: readonly StatementText[]): number | null {
  if (!(error instanceof ApiError)) return null
  const { position, statement: index = 0 } = error.body as { position?: string | null; statement?: number }
  const statement = statements[index]
  if (statement === undefined || position === undefined || position === null) return null
  return statement.from + offsetOfPosition(statement.sql, Number(position))
}

const READS_ONLY = '25006'

/** The plan of a statement as PostgreSQL's JSON, and whether the statement was run to measure it. */
export interface Explained {
  readonly json: unknown
  readonly isMeasured: boolean
}

/** Measures a statement in a transaction that cannot write. One that writes is planned and not run. */
export async function explainSql(
  api: Offshoot,
  database: DatabaseInfo,
  { sql }: StatementText,
  options: RunOptions = {},
): Promise<Explained> {
  const plan = async (settings: string) => {
    const statements = [{ sql: 'set transaction read only' }, { sql: `explain (${settings}, format json) ${sql}` }]
    return (await runSql(api, database, statements, options))[1]?.rows[0]?.[0]
  }
  try {
    return { json: await plan('analyze, buffers'), isMeasured: true }
  } catch (error) {
    if (!(error instanceof ApiError) || error.body['code'] !== READS_ONLY) throw error
    return { json: await plan('verbose false'), isMeasured: false }
  }
}
