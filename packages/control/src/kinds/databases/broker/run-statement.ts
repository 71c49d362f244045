import pg from 'pg'
import { Refusal } from './refusal.ts'

/** Bytes of one answer's rows; what is beyond is left out, and the answer says so. */
const MAX_RESULT_BYTES = 32 * 1024 * 1024
export const MAX_ROWS = 100_000

export interface Statement {
  readonly sql: string
  readonly params?: readonly unknown[] | undefined
}

export interface StatementResult {
  readonly fields: readonly pg.FieldDef[]
  /** As the server writes them; `null` is NULL. */
  readonly rows: readonly (readonly (string | null)[])[]
  readonly truncated: boolean
  /** Of what the server counted, `null` for statements without a count. */
  readonly rowCount: number | null
  readonly command: string
}

/** What the driver calls when a statement wants to copy from the client, or to it; its types do not know. */
interface Copying {
  handleCopyInResponse(connection: { sendCopyFail(reason: string): void }): void
  handleCopyData(): void
}

const NO_COPY = 'COPY from stdin and to stdout need a connection'

/** As text, whatever the type: what becomes of it is the answer's business. */
const TEXT = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig

/**
 * Runs one statement and keeps as many rows as wanted. The others are read and dropped, not cut off: a statement that also
 * writes has to come to its end.
 */
export async function runStatement(
  client: pg.ClientBase,
  { sql, params = [] }: Statement,
  maxRows = MAX_ROWS,
): Promise<StatementResult> {
  // The types of `Query` lack what `client.query` takes.
  const config = { text: sql, values: [...params], rowMode: 'array', types: TEXT } as pg.QueryArrayConfig
  const query = new pg.Query<(string | null)[]>(config)
  let kept = keepingOf(null)
  let isCopy = false
  const copying = query as unknown as Copying
  copying.handleCopyData = () => (isCopy = true)
  copying.handleCopyInResponse = (connection) => {
    isCopy = true
    connection.sendCopyFail(NO_COPY)
  }
  query.on('row', (row, result: unknown) => {
    if (result !== kept.result) kept = keepingOf(result)
    for (const value of row) kept.bytes += value === null ? 4 : value.length
    if (kept.rows.length < maxRows && kept.bytes <= MAX_RESULT_BYTES) kept.rows.push(row)
    else kept.truncated = true
  })
  const ended = new Promise<pg.QueryArrayResult | readonly pg.QueryArrayResult[]>((resolve, reject) => {
    query.on('end', resolve)
    query.on('error', reject)
  })
  client.query(query)
  const results = await ended.catch((error: unknown) => {
    if (!isCopy) throw error
    return []
  })
  if (isCopy) throw new Refusal(400, NO_COPY, { code: '0A000', detail: null, hint: null, position: null })
  // Several statements in one text give several results: what counts is the last.
  const last = [results].flat().at(-1)
  const { rows, truncated } = last === kept.result ? kept : keepingOf(last)
  return {
    fields: last?.fields ?? [],
    rows,
    truncated,
    rowCount: last?.rowCount ?? null,
    command: last?.command ?? '',
  }
}

/** What is kept of one statement's rows, and whose they are. */
function keepingOf(result: unknown) {
  return { result, rows: new Array<(string | null)[]>(), bytes: 0, truncated: false }
}
