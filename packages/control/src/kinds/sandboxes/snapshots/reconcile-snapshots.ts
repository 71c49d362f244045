import type { ReconcileOptions } from '../../../fleet/agent-hooks.ts'
import { orLog } from '../../../fleet/or-log.ts'
import { MEMORY_TIMEOUT_MS } from '../../../fleet/sandbox-calls.ts'
import { listSnapshots, removeFromAgent } from '../../../fleet/snapshot-calls.ts'
import {
  leaveMissingSnapshot,
  noteFound,
  noteMissing,
  type ReconcileSnapshotRow,
  removeSnapshotHost,
  setSnapshotHostReady,
  snapshotRowsOfAgent,
} from '../../../fleet/snapshot-host-statements.ts'
import { removeCreatingSnapshot, removeSnapshotRow, setSnapshotReady } from './snapshot-statements.ts'

/** Seconds for which a copy from another host may last. */
const COPY_SECONDS = 4 * 3600

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
    if (row !== undefined) await settlePresent(options, row, sizeBytes)
  }
  const strays = snapshots.filter(({ id }) => !after.has(id))
  for (const { id, workspace_id: workspaceId } of await brake.deletable('snapshot', strays)) {
    log.warn({ agent: agentId, snapshot: id }, 'snapshot of a removed row: deleting it')
    await orLog(log, { agent: agentId, snapshot: id }, removeFromAgent(client, { id, workspaceId, requestId }))
  }
  await settleLost(
    options,
    before.filter(({ id, status }) => status === 'ready' && !listed.has(id)),
  )
  const abandoned = [...after.values()].filter((row) => row.status === 'creating' && row.is_abandoned)
  const givenUp = abandoned.filter(({ id }) => !listed.has(id))
  for (const row of givenUp) {
    await (row.is_copy ? endCopy(options, row, requestId) : removeCreatingSnapshot(pool, row.id))
  }
  return givenUp.length
}

/** The host may still be receiving it. Afterwards, nothing of it is there. */
async function endCopy(
  { pool, client, agentId, log }: ReconcileOptions,
  { id, workspace_id: workspaceId }: ReconcileSnapshotRow,
  requestId: string,
): Promise<void> {
  const ended = removeFromAgent(client, { id, workspaceId, requestId }).then(() =>
    removeSnapshotHost(pool, id, agentId),
  )
  await orLog(log, { agent: agentId, snapshot: id }, ended)
}

async function settlePresent(
  { pool, agentId }: ReconcileOptions,
  { id, status, is_copy: isCopy, is_missing: isMissing }: ReconcileSnapshotRow,
  sizeBytes: number,
): Promise<void> {
  if (isMissing) await noteFound(pool, id, agentId)
  if (status !== 'creating') return
  await (isCopy ? setSnapshotHostReady(pool, id, agentId) : setSnapshotReady(pool, id, sizeBytes))
}

async function settleLost(
  { pool, agentId, log, brake }: ReconcileOptions,
  lost: readonly ReconcileSnapshotRow[],
): Promise<void> {
  const nowhere: ReconcileSnapshotRow[] = []
  for (const row of lost.filter(({ is_missing: isMissing }) => !isMissing)) {
    if (row.is_copy) await removeSnapshotHost(pool, row.id, agentId)
    else if ((await keptElsewhere(pool, row.id, agentId)) === null) nowhere.push(row)
    else log.warn({ agent: agentId, snapshot: row.id }, 'snapshot lost by its host: a copy is elsewhere')
  }
  for (const { id } of brake.forgettable('snapshot', nowhere)) {
    const [removed] = await removeSnapshotRow(pool, id)
    if (removed) log.warn({ agent: agentId, snapshot: id }, 'row without a snapshot: removed')
  }
}

/** @returns `null`: nothing else has it */
async function keptElsewhere(pool: ReconcileOptions['pool'], id: string, agentId: string): Promise<string | null> {
  const [moved] = await leaveMissingSnapshot(pool, id, agentId)
  const [kept] = moved === undefined ? await noteMissing(pool, id, agentId) : [moved]
  return kept?.id ?? null
}
