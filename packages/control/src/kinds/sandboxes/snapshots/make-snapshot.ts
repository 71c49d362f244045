import { randomUUID } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import { AgentUnreachable, refusalOf } from '../../../fleet/agent-failure.ts'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { takeSnapshot } from '../../../fleet/snapshot-calls.ts'
import type { ProcessLock } from '../../../platform/db/process-lock.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { insertCreatingSnapshot, removeCreatingSnapshot, setSnapshotReady } from './snapshot-statements.ts'

/** The services that are needed to take a snapshot. */
export interface SnapshotTaker extends Remover {
  readonly lock: ProcessLock
}

/**
 * Takes a snapshot. It inserts the row before it asks the agent; if the process dies in between, reconciliation settles
 * the row.
 */
export async function makeSnapshot(
  control: SnapshotTaker,
  row: SandboxRow,
  requestId: string,
  { origin = 'user', name = null }: { readonly origin?: 'user' | 'backup'; readonly name?: string | null } = {},
): Promise<SnapshotRow> {
  const agent = liveAgent(control, row)
  const { pool } = control.database
  const id = randomUUID()
  const [inserted] = await insertCreatingSnapshot(pool, id, row.id, control.lock.number, origin, name)
  if (inserted === undefined) throw new ApiError('sandboxNotFound')
  const made = await takeSnapshot(agent, subjectOf(row, requestId), id).catch(async (error: unknown) => {
    await removeCreatingSnapshot(pool, id)
    // The agent may still create the snapshot, which then has no row.
    if (error instanceof AgentUnreachable && error.mayHaveBegun) control.fleet.reconcileSoon(row.agent_id)
    throw refusalOf(error)
  })
  const [ready] = await setSnapshotReady(pool, id, made.size_bytes)
  if (ready === undefined) throw new ApiError('conflict', { detail: 'the creation of the snapshot was cancelled' })
  return ready
}
