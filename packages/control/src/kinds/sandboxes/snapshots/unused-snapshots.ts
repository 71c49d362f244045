import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { removeSnapshot } from './remove-snapshot.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { claimUnusedSnapshots, retrySnapshotDeletion } from './snapshot-statements.ts'
import { LEASE_SECONDS, type Reaping } from '../../../platform/jobs/reaper.ts'

/** Deletes the snapshots of forks once no sandbox made from them is left. */
export function unusedSnapshots(remover: Remover): Reaping<SnapshotRow> {
  const { fleet, database } = remover
  return {
    what: 'unused snapshot',
    everyMs: 5_000,
    claim: (limit) => claimUnusedSnapshots(database.pool, limit, fleet.reachable, LEASE_SECONDS),
    remove: (row, requestId) => removeSnapshot(remover, row, requestId),
    retry: (id, afterSeconds) => retrySnapshotDeletion(database.pool, id, afterSeconds),
  }
}
