import type { AgentSandbox } from '@offshoot/contract/agent-api'
import type { AgentMove } from '@offshoot/contract/agent-move'
import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { AgentClient } from './agent-client.ts'
import { orLog } from './or-log.ts'
import { settle } from './move-calls.ts'
import { endedMoves, knownMoves } from './move-statements.ts'
import { ownersOfSandboxes } from './record-statements.ts'

/**
 * Tells an agent how moves and copies have ended that it still waits for. That happens if a process asked the agent after
 * another one had ended the move: a process that is stopped for a while does not know that it was replaced. It also
 * happens after the database was restored from a backup, which does not know the move: the sandbox stays where its row
 * says.
 */
export async function endMoves(
  pool: pg.Pool,
  agentId: string,
  client: AgentClient,
  sandboxes: readonly AgentSandbox[],
  requestId: string,
  log: Logger,
): Promise<void> {
  const waiting = sandboxes.flatMap(({ id, workspace_id: workspaceId, move }) =>
    move === undefined || !isUuid(move.id) ? [] : [{ id, workspaceId, move }],
  )
  if (waiting.length === 0) return
  const ids = waiting.map(({ move }) => move.id)
  const ended = new Map((await endedMoves(pool, ids)).map((row) => [row.id, row.is_elsewhere]))
  for (const unknown of await unknownOnes(pool, agentId, waiting)) ended.set(unknown.move.id, false)
  for (const { id, workspaceId, move } of waiting) {
    const isElsewhere = ended.get(move.id)
    if (isElsewhere === undefined) continue
    const outcome = isElsewhere === (move.direction === 'arriving') ? 'stay' : 'gone'
    log.warn({ sandbox: id, move: move.id, outcome }, 'the agent still waits for the end of a move: telling it')
    await orLog(log, { sandbox: id }, settle(client, { id, workspaceId, requestId }, move.id, outcome))
  }
}

interface Waiting {
  readonly id: string
  readonly move: AgentMove
}

/** The row of a move is older than what its hosts know of it, so these rows are lost. */
async function unknownOnes<T extends Waiting>(pool: pg.Pool, agentId: string, waiting: readonly T[]): Promise<T[]> {
  const leaving = waiting.filter(({ move }) => move.direction === 'leaving')
  const ids = leaving.map(({ move }) => move.id)
  const known = new Set((await knownMoves(pool, ids)).map(({ id }) => id))
  const unknown = leaving.filter(({ move }) => !known.has(move.id))
  if (unknown.length === 0) return []
  const owners = await ownersOfSandboxes(
    pool,
    unknown.map(({ id }) => id),
  )
  const here = new Set(owners.filter((row) => row.agent_id === agentId).map(({ id }) => id))
  return unknown.filter(({ id }) => here.has(id))
}
