import { DatabaseError } from 'pg'

/**
 * PostgreSQL's codes for a server that ends, starts, or does not accept writes yet because it is a replica:
 * admin_shutdown, crash_shutdown, cannot_connect_now, read_only_sql_transaction; and the class of broken connections.
 */
const ENDING = /^(57P0[123]|25006|08...)$/
/** Errors of the network, from a call of the driver. Calls of other services wrap theirs. */
const NETWORK: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH'])
/** The driver's own errors have no code. The last one comes only if the server's limit of a statement has not ended it. */
const DRIVER =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed and is not queryable|Query read timeout)/

/** Whether a statement failed because PostgreSQL restarts or fails over, not because of the statement. */
export function isDatabaseUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof DatabaseError) return ENDING.test(code ?? '')
  return NETWORK.has(code) || DRIVER.test(error.message)
}
