import { ApiError } from '@offshoot/contract/errors'
import { AgentRefused, AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { changeHome } from '../../../fleet/snapshot-host-statements.ts'
import { removeFromAgent } from '../../../fleet/snapshot-calls.ts'
import { isTooOld } from '../../../fleet/snapshot-move-calls.ts'
import {
  failSnapshotMove,
  finishSnapshotMove,
  openSnapshotMove,
  type SnapshotMoveRow,
  unfinishedSnapshotMoves,
} from '../../../fleet/snapshot-move-statements.ts'
import { reasonOf, SourceFailed } from '../../../fleet/stream-calls.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { type Brought, bringSnapshot } from './bring-snapshot.ts'

/**
 * Moves snapshots away from a host that is drained: another host gets the snapshot, one transaction makes it that host's,
 * and then the earlier host removes it. Until the transaction, the snapshot is the earlier host's.
 */
export function moveSnapshots(control: SandboxesContext): RowTask {
  const { pool } = control.database
  return {
    name: 'move-snapshot',
    due: (limit) => unfinishedSnapshotMoves(pool, limit),
    async work({ id, requestId, signal }) {
      const [move] = await openSnapshotMove(pool, id)
      if (move === undefined) return
      const { home, origin, from_agent: from } = move
      if (home !== from || origin === null) {
        await (home === move.to_agent
          ? finishSnapshotMove(pool, id)
          : giveUp(pool, id, 'the snapshot was deleted', true))
        return
      }
      try {
        await bring(control, move, origin, requestId, signal)
      } catch (error) {
        signal.throwIfAborted()
        const cause = error instanceof SourceFailed ? error.cause : error
        await giveUp(pool, id, failureOf(error), isTooOld(cause) && error instanceof SourceFailed)
        return
      }
      await commit(control, move, requestId)
    },
  }
}

async function bring(
  control: SandboxesContext,
  { snapshot_id: id, workspace_id: workspaceId, to_agent: to }: SnapshotMoveRow,
  origin: string,
  requestId: string,
  signal: AbortSignal,
): Promise<void> {
  const destination = control.fleet.byId(to)
  if (destination?.isReachable !== true) throw new ApiError('conflict', { detail: 'the destination does not answer' })
  const snapshot = { id, workspace_id: workspaceId, origin } as Brought
  await bringSnapshot(control, snapshot, destination, requestId, signal)
}

async function commit(control: SandboxesContext, move: SnapshotMoveRow, requestId: string): Promise<void> {
  const { database, fleet, log } = control
  const { id, snapshot_id: snapshotId, workspace_id: workspaceId, from_agent: from, to_agent: to } = move
  const isMoved = await transaction(database.pool, async (client) => {
    const [moved] = await changeHome(client, snapshotId, from, to)
    if (moved === undefined) await giveUp(client, id, 'the snapshot was deleted, or its host is not drained any more')
    else await finishSnapshotMove(client, id)
    return moved !== undefined
  })
  const source = fleet.byId(from)
  if (!isMoved || source === undefined) return
  // If it does not answer, reconciliation tells it.
  await removeFromAgent(source.client, { id: snapshotId, workspaceId, requestId }).catch((error: unknown) => {
    log.warn({ err: error, agent: from, snapshot: snapshotId }, 'moved snapshot left to the reconciliation')
  })
}

async function giveUp(on: Queryable, id: string, reason: string, isFinal = false): Promise<void> {
  await failSnapshotMove(on, id, reason, isFinal)
}

function failureOf(error: unknown): string {
  if (error instanceof ApiError) return error.body.detail ?? error.body.error
  if (error instanceof AgentRefused)
    return isTooOld(error) ? 'the destination is of an earlier version' : reasonOf(error)
  if (error instanceof AgentUnreachable) return 'the destination broke off'
  if (error instanceof SourceFailed && error.cause instanceof AgentRefused && !isTooOld(error.cause)) {
    return reasonOf(error.cause)
  }
  return error instanceof Error ? error.message : String(error)
}
