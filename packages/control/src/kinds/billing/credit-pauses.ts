import type { Remover } from '../../fleet/agent-or-retired.ts'
import { AgentRefused, refuse } from '../../fleet/agent-failure.ts'
import { applyAnswer } from '../../fleet/apply-answer.ts'
import { move, type Transition } from '../../fleet/sandbox-calls.ts'
import type { RowTask } from '../../platform/jobs/task.ts'
import { liveAgent, subjectOf } from '../../fleet/live-agent.ts'
import type { SandboxRow } from '../../fleet/sandbox-row.ts'
import { liftedIds, liftedSandbox, markUnpaid, settleLifted, unpaidIds } from './credit-pause-statements.ts'

/** Statuses of an agent's answer that mean that there is nothing to pause or resume. */
const NOTHING_TO_DO: ReadonlySet<number> = new Set([404, 409])

/** Pauses the running sandboxes of workspaces without credit. Their state is kept. */
export function unpaidSandboxes(remover: Remover): RowTask {
  const { fleet, database } = remover
  return {
    name: 'pause-unpaid-sandbox',
    due: (limit) => unpaidIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [row] = await markUnpaid(database.pool, id, fleet.reachable)
      if (row !== undefined) await moveIfPossible(remover, row, 'pause', requestId)
    },
  }
}

/** Resumes sandboxes that were paused for lack of credit, once the workspace has credit or another plan. */
export function liftedSandboxes(remover: Remover): RowTask {
  const { fleet, database } = remover
  return {
    name: 'resume-paid-sandbox',
    due: (limit) => liftedIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [row] = await liftedSandbox(database.pool, id, fleet.reachable)
      if (row === undefined) return
      if (row.status === 'paused') await moveIfPossible(remover, row, 'resume', requestId)
      await settleLifted(database.pool, row.id)
    },
  }
}

async function moveIfPossible(
  { fleet, database }: Remover,
  row: SandboxRow,
  transition: Transition,
  requestId: string,
): Promise<void> {
  try {
    const moved = await move(liveAgent({ fleet }, row), subjectOf(row, requestId), transition)
    await applyAnswer(database.pool, row, moved)
  } catch (error) {
    if (!(error instanceof AgentRefused) || !NOTHING_TO_DO.has(error.status)) refuse(error)
  }
}
