import type { ReconcileOptions } from '../../../fleet/agent-hooks.ts'
import { snapshotRowsOfAgent } from '../../../fleet/artifact-host-statements.ts'
import { MEMORY_TIMEOUT_MS } from '../../../fleet/sandbox-calls.ts'
import { COPY_SECONDS, deleteStrays, endCopy, settleLost, settlePresent } from '../../../fleet/settle-artifacts.ts'
import { listSnapshots } from '../../../fleet/snapshot-calls.ts'
import { removeCreatingSnapshot, removeSnapshotRow, setSnapshotReady } from './snapshot-statements.ts'

/**
 * Compares an agent's snapshots with the rows that refer to the agent.
 *
 * - A snapshot without a row is deleted if the brake allows it.
 * - A `creating` row becomes `ready` if the agent has the snapshot. It is removed if it was abandoned.
 * - A `ready` row whose snapshot is missing is removed, unless another host or the object store has the snapshot.
 *
 * The rows are read before and after the list. A row is inserted before its snapshot exists, so a listed snapshot
 * without a row *after* the list is an orphan. A snapshot is lost only if it was `ready` *before* the list and is not
 * in it.
 *
 * @returns the number of abandoned rows that were removed
 */
export async function reconcileSnapshots(options: ReconcileOptions, requestId: string): Promise<number> {
  const { pool, client, agentId, log, brake } = options
  const readRows = () => snapshotRowsOfAgent(pool, agentId, MEMORY_TIMEOUT_MS / 1000, COPY_SECONDS)
  const before = await readRows()
  const { snapshots, unreadable } = await listSnapshots(client, requestId)
  const listed = new Set([...snapshots.map(({ id }) => id), ...unreadable])
  const after = new Map((await readRows()).map((row) => [row.id, row]))
  for (const { id, size_bytes: sizeBytes } of snapshots) {
    const row = after.get(id)
    if (row !== undefined) await settlePresent(options, row)
    if (row?.is_copy === false && !row.is_ready) await setSnapshotReady(pool, id, sizeBytes)
  }
  const strays = snapshots.filter(({ id }) => !after.has(id))
  await deleteStrays(options, 'snapshot', strays, requestId)
  const lost = before.filter(({ id, is_ready: isReady }) => isReady && !listed.has(id))
  for (const { id } of brake.forgettable('snapshot', await settleLost(options, 'snapshot', lost))) {
    const [removed] = await removeSnapshotRow(pool, id)
    if (removed) log.warn({ agent: agentId, snapshot: id }, 'row without a snapshot: removed')
  }
  const abandoned = [...after.values()].filter((row) => !row.is_ready && row.is_abandoned)
  const givenUp = abandoned.filter(({ id }) => !listed.has(id))
  for (const row of givenUp) {
    await (row.is_copy ? endCopy(options, 'snapshot', row, requestId) : removeCreatingSnapshot(pool, row.id))
  }
  return givenUp.length
}
