import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { AgentClient } from './agent-client.ts'
import { orLog } from './or-log.ts'
import { settle } from './move-calls.ts'
import { endedMoves } from './move-statements.ts'

/**
 * Tells an agent how moves have ended that it still waits for. That happens if a process asked the agent after another
 * one had ended the move: a process that is stopped for a while does not know that it was replaced.
 */
export async function endMoves(
  pool: pg.Pool,
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
  const ended = new Map((await endedMoves(pool, ids)).map((row) => [row.id, row.state]))
  for (const { id, workspaceId, move } of waiting) {
    const state = ended.get(move.id)
    if (state === undefined) continue
    const outcome = (state === 'done') === (move.direction === 'arriving') ? 'stay' : 'gone'
    log.warn({ sandbox: id, move: move.id, outcome }, 'the agent still waits for the end of a move: telling it')
    await orLog(log, { sandbox: id }, settle(client, { id, workspaceId, requestId }, move.id, outcome))
  }
}
