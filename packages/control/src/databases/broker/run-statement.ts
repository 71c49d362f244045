import pg from 'pg'

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
  const rows: (string | null)[][] = []
  let bytes = 0
  let truncated = false
  query.on('row', (row) => {
    for (const value of row) bytes += value === null ? 4 : value.length
    if (rows.length < maxRows && bytes <= MAX_RESULT_BYTES) rows.push(row)
    else truncated = true
  })
  const ended = new Promise<pg.QueryArrayResult | readonly pg.QueryArrayResult[]>((resolve, reject) => {
    query.on('end', resolve)
    query.on('error', reject)
  })
  client.query(query)
  const results = await ended
  // Several statements in one text give several results: what counts is the last.
  const last = [results].flat().at(-1)
  return {
    fields: last?.fields ?? [],
    rows,
    truncated,
    rowCount: last?.rowCount ?? null,
    command: last?.command ?? '',
  }
}
