import { ApiError } from '@offshoot/contract/errors'
import pg from 'pg'

/** What a request is answered instead of a result. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly fields: Readonly<Record<string, unknown>>

  constructor(status: number, error: string, fields: Readonly<Record<string, unknown>> = {}) {
    super(error)
    this.status = status
    this.fields = fields
  }
}

/** SQLSTATE of a statement that was cancelled: by `statement_timeout`, or because its request was over. */
export const QUERY_CANCELED = '57014'

/** What the server said, as HTTP: 408 when a statement took too long, else 400. @throws ApiError of the machine, or of a broken connection */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof ApiError) throw error
  if (!(error instanceof pg.DatabaseError)) throw new ApiError('agentUnreachable', {}, { cause: error })
  const { code, detail = null, hint = null, position = null, severity, schema, table, column, constraint } = error
  // `undefined` stays away from JSON; what is specified is there, `null` where the server says nothing.
  const fields = { code, detail, hint, position, severity, schema, table, column, constraint }
  return new Refusal(code === QUERY_CANCELED ? 408 : 400, error.message, fields)
}
