import { ApiError } from '@offshoot/contract/errors'
import pg from 'pg'

/** An error answer instead of a result. */
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

/** SQLSTATE query_canceled: `statement_timeout` passed, or the request ended. */
export const QUERY_CANCELED = '57014'

/**
 * Maps a server's error to HTTP: 408 if a statement took too long, else 400.
 * @throws ApiError of the sandbox or of a broken connection
 */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof ApiError) throw error
  if (!(error instanceof pg.DatabaseError)) throw new ApiError('agentUnreachable', {}, { cause: error })
  const { code, detail = null, hint = null, position = null, severity, schema, table, column, constraint } = error
  // JSON omits `undefined`. The specified fields are always present, with `null` where the server sends nothing.
  const fields = { code, detail, hint, position, severity, schema, table, column, constraint }
  return new Refusal(code === QUERY_CANCELED ? 408 : 400, error.message, fields)
}
