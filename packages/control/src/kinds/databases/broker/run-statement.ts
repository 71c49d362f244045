import pg from 'pg'
import type { AnswerMemory } from './answer-memory.ts'
import { Refusal } from './refusal.ts'

export const MAX_ROWS = 100_000

export interface Statement {
  readonly sql: string
  readonly params?: readonly unknown[] | undefined
}

export interface StatementResult {
  readonly fields: readonly pg.FieldDef[]
  /** As the server's text; `null` is NULL. */
  readonly rows: readonly (readonly (string | null)[])[]
  readonly truncated: boolean
  /** The server's row count; `null` for statements without one. */
  readonly rowCount: number | null
  readonly command: string
}

/** The driver calls these methods for a COPY; its types do not list them. */
interface Copying {
  handleCopyInResponse(connection: { sendCopyFail(reason: string): void }): void
  handleCopyData(): void
}

const NO_COPY = 'COPY from stdin and to stdout need a connection'

/** Returns all values as text. The caller converts them. */
const TEXT = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig

/**
 * Runs one statement and keeps up to `maxRows` rows, while there is memory. It reads and drops the others instead of aborting, because a
 * statement that also writes must complete.
 */
export async function runStatement(
  client: pg.ClientBase,
  { sql, params = [] }: Statement,
  memory: AnswerMemory,
  maxRows = MAX_ROWS,
): Promise<StatementResult> {
  // `Query`'s type lacks options that `client.query` accepts.
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
    if (result !== kept.result) {
      for (const each of kept.rows) memory.drop(each)
      kept = keepingOf(result)
    }
    // Once a row was dropped, all later rows are.
    if (!kept.truncated && kept.rows.length < maxRows && memory.keep(row)) kept.rows.push(row)
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
  // A text with several statements gives several results. Only the last one counts.
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

/** The kept rows, and the result that they belong to. */
function keepingOf(result: unknown) {
  return { result, rows: new Array<(string | null)[]>(), truncated: false }
}
