import type { ReconcileOptions } from '../../../fleet/agent-hooks.ts'
import { orLog } from '../../../fleet/or-log.ts'
import { MEMORY_TIMEOUT_MS } from '../../../fleet/sandbox-calls.ts'
import { listSnapshots, removeFromAgent } from '../../../fleet/snapshot-calls.ts'
import {
  removeCreatingSnapshot,
  removeSnapshotRow,
  setSnapshotReady,
  snapshotRowsOfAgent,
} from './snapshot-statements.ts'

/**
 * Compares an agent's snapshots with the rows that refer to the agent.
 *
 * - A snapshot without a row is deleted if the brake allows it.
 * - A `creating` row becomes `ready` if the agent has the snapshot. It is removed if it was abandoned.
 * - A `ready` row whose snapshot is missing is removed.
 *
 * The rows are read before and after the list. A row is inserted before its snapshot exists, so a listed snapshot
 * without a row *after* the list is an orphan. A snapshot is lost only if it was `ready` *before* the list and is not
 * in it.
 *
 * @returns the number of abandoned rows that were removed
 */
export async function reconcileSnapshots(
  { pool, client, agentId, log, brake }: ReconcileOptions,
  requestId: string,
): Promise<number> {
  const readRows = () => snapshotRowsOfAgent(pool, agentId, MEMORY_TIMEOUT_MS / 1000)
  const before = await readRows()
  const { snapshots, unreadable } = await listSnapshots(client, requestId)
  const listed = new Set([...snapshots.map(({ id }) => id), ...unreadable])
  const after = new Map((await readRows()).map((row) => [row.id, row]))
  for (const { id, size_bytes: sizeBytes } of snapshots) {
    if (after.get(id)?.status === 'creating') await setSnapshotReady(pool, id, sizeBytes)
  }
  const strays = snapshots.filter(({ id }) => !after.has(id))
  for (const { id, workspace_id: workspaceId } of await brake.deletable('snapshot', strays)) {
    log.warn({ agent: agentId, snapshot: id }, 'snapshot of a removed row: deleting it')
    await orLog(log, { agent: agentId, snapshot: id }, removeFromAgent(client, { id, workspaceId, requestId }))
  }
  const lost = before.filter((row) => row.status === 'ready' && !listed.has(row.id))
  for (const { id } of brake.forgettable('snapshot', lost)) {
    const [removed] = await removeSnapshotRow(pool, id)
    if (removed) log.warn({ agent: agentId, snapshot: id }, 'row without a snapshot: removed')
  }
  const abandoned = [...after.values()].filter((row) => row.status === 'creating' && row.is_abandoned)
  const givenUp = abandoned.filter(({ id }) => !listed.has(id))
  for (const { id } of givenUp) await removeCreatingSnapshot(pool, id)
  return givenUp.length
}
