import type { Pool } from 'pg'

/**
 * Prevents a broken connection from ending this process. The pool listens for errors of idle connections only. A
 * connection in use has no listener, and its 'error' event can come between two queries.
 */
export function outliveBrokenConnections(pool: Pool): void {
  pool.on('connect', (client) => client.on('error', () => undefined))
}
