import type { Remover } from '../../fleet/agent-or-retired.ts'
import { removeSandbox } from './remove-sandbox.ts'
import type { SandboxRow } from '../../fleet/sandbox-row.ts'
import { claimExpired, retryDeletion } from './sandbox-statements.ts'
import { LEASE_SECONDS, type Reaping } from '../../platform/jobs/reaper.ts'

/**
 * Deletes expired sandboxes and those with a pending deletion. If an agent is unreachable, its sandboxes are deleted
 * when it is back.
 */
export function expiredSandboxes(remover: Remover): Reaping<SandboxRow> {
  const { fleet, database } = remover
  return {
    what: 'expired sandbox',
    everyMs: 1_000,
    claim: (limit) => claimExpired(database.pool, limit, fleet.reachable, LEASE_SECONDS),
    remove: (row, requestId) => removeSandbox(remover, row, requestId),
    retry: (id, afterSeconds) => retryDeletion(database.pool, id, afterSeconds),
  }
}
