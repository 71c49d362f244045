import type { Pool } from 'pg'

/**
 * Prevents a broken connection from ending this process. Two events need a listener: the pool's own 'error', for a
 * connection that is idle or is being closed by `end()`, and the 'error' of a connection in use, which can come between
 * two queries.
 *
 * @param onIdle called when an idle connection breaks; the pool replaces the connection
 */
export function outliveBrokenConnections(pool: Pool, onIdle: (error: Error) => void = () => undefined): void {
  pool.on('error', onIdle)
  pool.on('connect', (client) => client.on('error', () => undefined))
}
