import type { Remover } from '../../fleet/agent-or-retired.ts'
import { claimAbandonedDatabases, retryDatabaseDeletion } from './database-statements.ts'
import { removeDatabase } from './remove-database.ts'
import { LEASE_SECONDS, type Reaping } from '../../platform/jobs/reaper.ts'

/** Removes databases whose creation or deletion a process began but did not finish. */
export function abandonedDatabases(remover: Remover): Reaping<{ readonly id: string }> {
  const { pool } = remover.database
  return {
    what: 'abandoned database',
    everyMs: 1_000,
    claim: (limit) => claimAbandonedDatabases(pool, limit, LEASE_SECONDS),
    remove: ({ id }, requestId) => removeDatabase(remover, id, requestId),
    retry: (id, afterSeconds) => retryDatabaseDeletion(pool, id, afterSeconds),
  }
}
