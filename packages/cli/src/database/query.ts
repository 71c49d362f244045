import { text as textOf } from 'node:stream/consumers'
import { type Action, operand } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { withProgress } from '../frame/progress.ts'
import { readDatabase } from './show.ts'

interface Options {
  readonly database?: string
  readonly maxRows?: number
  readonly timeout?: number
}

/** The broker's answer to a statement. */
interface Result {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
}

export const run: Action<Options> = async (cli, line) => {
  const { database: name, maxRows, timeout, json } = line.options
  const given = operand(line, 1)
  const sql = given === '-' ? await textOf(cli.streams.stdin) : given
  if (sql.trim() === '') throw new UsageError('the statement must not be empty')
  const database = await readDatabase(cli, operand(line, 0))
  const limits = { max_rows: maxRows, timeout_ms: timeout === undefined ? undefined : timeout * 1000 }
  // The route passes everything on, so its types know of no body.
  const body = { sql, database: name, ...limits }
  const answering = (await cli.api()).request('POST /v1/databases/{id}/proxy/{path}', {
    path: { id: database.id, path: 'v1/query' },
    // The broker takes the credential of the database, and no other.
    headers: { authorization: `Bearer ${database.broker_token}` },
    body: body as never,
    signal: cli.signal,
    timeoutMs: 0,
  })
  const { columns, rows, truncated } = (await withProgress(
    cli,
    'waiting for the answer',
    answering,
  )) as unknown as Result
  const names = columns.map((column) => column.name)
  if (json) cli.out.json(rows.map((row) => Object.fromEntries(names.map((column, i) => [column, row[i]]))))
  else
    cli.out.table(
      names,
      rows.map((row) => row.map(cell)),
      'The statement returned no rows.',
    )
  if (truncated) cli.out.note('offshoot: there are more rows: give --max-rows, or use offshoot db psql')
}

function cell(value: unknown): string {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
