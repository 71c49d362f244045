import { randomUUID } from 'node:crypto'
import { registeredError } from '@offshoot/contract/errors'
import type { AgentClient } from '../../../fleet/agent-client.ts'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import { agentOrNone } from '../../../fleet/agent-or-none.ts'
import { bakesOf, leave } from '../../../fleet/move-calls.ts'
import { noteLeft } from '../../../fleet/move-statements.ts'
import { reasonOf } from '../../../fleet/stream-calls.ts'
import { applyAnswer } from '../../../fleet/apply-answer.ts'
import { look, move as change } from '../../../fleet/sandbox-calls.ts'
import { giveUp, type MoveRun } from './move-context.ts'

/** A request may wake the sandbox between its hibernation and its leave. */
const MAX_HIBERNATIONS = 5

/**
 * First step: hibernates the sandbox, and makes its host refuse to wake it. Gives the move up if the host says that the
 * sandbox cannot move.
 * @returns whether to go on
 */
export async function leaveHost(run: MoveRun): Promise<boolean> {
  const { control, move } = run
  const source = await agentOrNone(control, move.from_agent)
  const destination = await agentOrNone(control, move.to_agent ?? '')
  if (source === 'away') return false
  if (source === 'gone' || move.owner !== move.from_agent) {
    return giveUp(run, 'the sandbox was deleted', true)
  }
  if (typeof destination === 'string') {
    return giveUp(run, 'the destination does not answer')
  }
  for (const agent of [source, destination]) {
    if (await canMove(agent, run.subject.requestId)) continue
    return giveUp(run, 'the version of an agent is too old for moves', agent === source)
  }
  try {
    const { bake, bytes } = await hibernateAndLeave(run, source)
    const { last_seq: seq } = await source.info(run.subject.requestId)
    await noteLeft(control.database.pool, move.id, bake.hash, bytes + bake.bytes, seq)
  } catch (error) {
    if (!(error instanceof AgentRefused) || error.status === 503) throw error
    const isFinal = error.status === 409 && error.body.error !== registeredError('sandboxMoving').error
    await giveUp(run, reasonOf(error), isFinal)
  }
  return true
}

/** Whether the version of the agent knows moves: asked before the sandbox is hibernated. */
async function canMove(agent: AgentClient, requestId: string): Promise<boolean> {
  try {
    await bakesOf(agent, requestId)
    return true
  } catch (error) {
    if (error instanceof AgentRefused && error.status === 404) return false
    throw error
  }
}

async function hibernateAndLeave(run: MoveRun, source: AgentClient) {
  const { move, subject } = run
  for (let attempt = 1; ; attempt++) {
    const { status, move: under } = await look(source, subject)
    if (status === 'paused') await change(source, subject, 'resume')
    if (status !== 'hibernated' && under === undefined) await hibernate(run, source)
    try {
      return await leave(source, subject, move.id)
    } catch (error) {
      const wasWoken = error instanceof AgentRefused && error.status === 409 && (await isAwake(run, source))
      if (!wasWoken || attempt === MAX_HIBERNATIONS) throw error
    }
  }
}

async function hibernate({ control, subject, move }: MoveRun, source: AgentClient): Promise<void> {
  const hibernated = await change(source, subject, 'hibernate')
  await applyAnswer(control.database.pool, { id: move.sandbox_id, agent_id: move.from_agent }, hibernated)
}

async function isAwake({ subject }: MoveRun, source: AgentClient): Promise<boolean> {
  return (await look(source, { ...subject, requestId: randomUUID() })).status !== 'hibernated'
}
