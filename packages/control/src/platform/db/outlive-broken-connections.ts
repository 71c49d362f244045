import type { Pool } from 'pg'

/**
 * Keeps a connection that breaks from ending this process. The pool listens to those that nobody uses; one in use has no
 * listener, and its 'error' comes beside the failure of its query, or in between two, where nothing would hear of it.
 */
export function outliveBrokenConnections(pool: Pool): void {
  pool.on('connect', (client) => client.on('error', () => undefined))
}
