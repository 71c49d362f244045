import { setTimeout as delay } from 'node:timers/promises'
import type { SettleOutcome } from '@offshoot/contract/agent-move'
import type { AgentClient } from '../../../fleet/agent-client.ts'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import { agentOrNone } from '../../../fleet/agent-or-none.ts'
import { settle } from '../../../fleet/move-calls.ts'
import { finishFailedMove, finishMove, noteCleaned } from '../../../fleet/move-statements.ts'
import { applyAnswer } from '../../../fleet/apply-answer.ts'
import { move as change, patchLifecycle } from '../../../fleet/sandbox-calls.ts'
import { sandboxLimitsOf } from '../../billing/limits/sandbox-limits.ts'
import { sandboxById } from '../model/sandbox-statements.ts'
import type { MoveRun } from './move-context.ts'

/**
 * Milliseconds after the commit for which the source keeps its copy, so that it answers those who still ask there that
 * the sandbox moves, and not that it does not exist.
 */
const KEPT_MS = 1_000

/** After the commit: the destination lets the sandbox wake. Repeated until it does. @returns whether to go on */
export async function finish(run: MoveRun): Promise<boolean> {
  const { control, move } = run
  const destination = await agentOrNone(control, move.to_agent ?? '')
  if (destination === 'away') return false
  if (destination === 'gone') {
    await finishMove(control.database.pool, move.id)
    return true
  }
  const isThere = await told(run, destination, 'stay')
  // The source still has everything, so keep that.
  if (!isThere && (await exists(run)))
    throw new Error(`a host has lost the sandbox ${move.sandbox_id} that it had taken`)
  // Until now, edges let nobody in.
  if (move.backup_id !== null && isThere) await patchLifecycle(destination, run.subject, { visibility: 'public' })
  const [finished] = await finishMove(control.database.pool, move.id)
  if (finished !== undefined && isThere) await wakeAgain(run, destination, move.to_agent ?? '')
  return true
}

/** Whether nobody has deleted the sandbox. */
async function exists({ control, move }: MoveRun): Promise<boolean> {
  return (await sandboxById(control.database.pool, move.sandbox_id)).length > 0
}

/** The move was given up before the commit: the source lets the sandbox wake again. @returns whether to go on */
export async function takeBack(run: MoveRun): Promise<boolean> {
  const { control, move } = run
  const source = await agentOrNone(control, move.from_agent)
  if (source === 'away') return false
  const isThere = source !== 'gone' && (await told(run, source, 'stay'))
  const [finished] = await finishFailedMove(control.database.pool, move.id)
  if (finished !== undefined && isThere) await wakeAgain(run, source, move.from_agent)
  return true
}

/** The take-over of a lost host's sandbox was given up before the commit: the stored copy is as it was. */
export async function takeBackNothing({ control, move }: MoveRun): Promise<boolean> {
  await finishFailedMove(control.database.pool, move.id)
  return true
}

/** Removes the copy that is not the sandbox. It can never wake. @returns whether to go on */
export async function clean(run: MoveRun): Promise<boolean> {
  const { control, move, signal } = run
  const agent = await agentOrNone(control, move.left_behind ?? '')
  if (agent === 'away') return false
  const waitMs = KEPT_MS - (move.committed_ms ?? KEPT_MS)
  if (waitMs > 0) await delay(waitMs, undefined, { signal })
  // A host that was lost knows the stored copy, and no move.
  const isSource = move.left_behind === move.from_agent
  const isRecovery = move.backup_id !== null
  if (agent !== 'gone' && isRecovery) await (isSource ? takeFrom(run, agent) : removeMade(run, agent))
  else if (agent !== 'gone') await told(run, agent, 'gone', (isSource ? move.copy_id : null) ?? move.id)
  await noteCleaned(control.database.pool, move.id)
  return true
}

/** The host whose lease had ended gives up what another one has brought back. It gets no lease before. */
async function takeFrom({ move, subject }: MoveRun, agent: AgentClient): Promise<void> {
  await settle(agent, subject, move.id, 'taken')
}

/** What an attempt to bring a lost database back has left; not what a later attempt has made there. */
async function removeMade({ move, subject: { workspaceId, requestId } }: MoveRun, agent: AgentClient): Promise<void> {
  try {
    await agent.remove(move.sandbox_id, workspaceId, requestId, move.id)
  } catch (error) {
    if (!(error instanceof AgentRefused) || error.status !== 409) throw error
  }
}

/** @returns false if the host does not have the sandbox, or does not move it */
async function told(run: MoveRun, agent: AgentClient, outcome: SettleOutcome, id = run.move.id): Promise<boolean> {
  try {
    await settle(agent, run.subject, id, outcome)
    return true
  } catch (error) {
    if (error instanceof AgentRefused && (error.status === 404 || error.status === 409)) return false
    throw error
  }
}

/** If the sandbox ran, it runs again. Otherwise, or if there is no room, the next request wakes it. */
async function wakeAgain({ control, move, subject }: MoveRun, agent: AgentClient, agentId: string): Promise<void> {
  if (!move.was_running) return
  try {
    const limits = await sandboxLimitsOf(control, move.workspace_id)
    const woken = await change(agent, subject, 'wake', { limits })
    await applyAnswer(control.database.pool, { id: move.sandbox_id, agent_id: agentId }, woken)
  } catch (error) {
    control.log.warn({ err: error, sandbox: move.sandbox_id, agent: agentId }, 'not woken after its move')
  }
}
