import { ApiError } from '@offshoot/contract/errors'
import { AgentRefused, AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { isTooOld, removeArtifact } from '../../../fleet/artifact-calls.ts'
import { changeHome } from '../../../fleet/artifact-host-statements.ts'
import {
  type ArtifactMoveRow,
  failArtifactMove,
  finishArtifactMove,
  openArtifactMove,
  unfinishedArtifactMoves,
} from '../../../fleet/artifact-move-statements.ts'
import type { Artifact } from '../../../fleet/artifact.ts'
import { reasonOf, SourceFailed } from '../../../fleet/stream-calls.ts'
import { serviceActor } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { bringArtifact } from './bring-artifact.ts'

/**
 * Moves artifacts away from a host that is drained: another host gets the artifact, one transaction makes it that host's,
 * and then the earlier host removes it. Until the transaction, the artifact is the earlier host's.
 */
export function moveArtifacts(control: SandboxesContext): RowTask {
  const { pool } = control.database
  return {
    name: 'move-artifact',
    due: (limit) => unfinishedArtifactMoves(pool, limit),
    async work({ id, requestId, signal }) {
      const [move] = await openArtifactMove(pool, id)
      if (move === undefined) return
      const { home, kind, origin, from_agent: from, artifact_id, workspace_id } = move
      if (home !== from || kind === null || origin === null) {
        await (home === move.to_agent ? finishArtifactMove(pool, id) : giveUp(pool, id, 'it was deleted', true))
        return
      }
      const artifact = { id: artifact_id, kind, workspace_id, origin }
      try {
        await bring(control, move.to_agent, artifact, requestId, signal)
      } catch (error) {
        signal.throwIfAborted()
        const cause = error instanceof SourceFailed ? error.cause : error
        await giveUp(pool, id, failureOf(error), isTooOld(cause) && error instanceof SourceFailed)
        return
      }
      await commit(control, move, artifact, requestId)
    },
  }
}

async function bring(
  control: SandboxesContext,
  to: string,
  artifact: Artifact,
  requestId: string,
  signal: AbortSignal,
): Promise<void> {
  const destination = control.fleet.byId(to)
  if (destination?.isReachable !== true) throw new ApiError('conflict', { detail: 'the destination does not answer' })
  await bringArtifact(control, artifact, destination, requestId, signal)
}

async function commit(
  { database, fleet, log }: SandboxesContext,
  { id, from_agent: from, to_agent: to, name }: ArtifactMoveRow,
  artifact: Artifact,
  requestId: string,
): Promise<void> {
  const isMoved = await transaction(database.pool, async (client) => {
    const [moved] = await changeHome(client, artifact.id, from, to)
    if (moved === undefined) {
      await giveUp(client, id, 'it was deleted, or its host is not drained any more')
      return false
    }
    await finishArtifactMove(client, id)
    await recordAuditEvent(client, serviceActor(requestId), {
      workspaceId: artifact.workspace_id,
      action: `${artifact.kind}.moved`,
      target: name,
      details: { from, to },
    })
    return true
  })
  const source = fleet.byId(from)
  if (!isMoved || source === undefined) return
  // If it does not answer, reconciliation tells it.
  await removeArtifact(source.client, { ...artifact, requestId }).catch((error: unknown) => {
    log.warn({ err: error, agent: from, [artifact.kind]: artifact.id }, 'moved artifact left to the reconciliation')
  })
}

async function giveUp(on: Queryable, id: string, reason: string, isFinal = false): Promise<void> {
  await failArtifactMove(on, id, reason, isFinal)
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
