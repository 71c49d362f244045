import type { Remover } from '../../fleet/agent-or-retired.ts'
import { AgentRefused, refuse } from '../../fleet/agent-failure.ts'
import { applyStatus } from '../../fleet/record-statements.ts'
import { move, type Transition } from '../../fleet/sandbox-calls.ts'
import { LEASE_SECONDS, type Reaping } from '../../platform/jobs/reaper.ts'
import { liveAgent, subjectOf } from '../../fleet/live-agent.ts'
import type { SandboxRow } from '../../fleet/sandbox-row.ts'
import { claimLifted, claimUnpaid, retryCredit, settleLifted, settlePaused } from './credit-pause-statements.ts'

/** Statuses of an agent's answer that mean that there is nothing to pause or resume. */
const NOTHING_TO_DO: ReadonlySet<number> = new Set([404, 409])

/** Pauses the running sandboxes of workspaces without credit. Their state is kept. */
export function unpaidSandboxes(remover: Remover): Reaping<SandboxRow> {
  const { fleet, database } = remover
  return {
    what: 'sandbox without credit',
    everyMs: 1_000,
    claim: (limit) => claimUnpaid(database.pool, limit, fleet.reachable, LEASE_SECONDS),
    remove: async (row, requestId) => {
      await moveIfPossible(remover, row, 'pause', requestId)
      await settlePaused(database.pool, row.id)
    },
    retry: (id, afterSeconds) => retryCredit(database.pool, id, afterSeconds),
  }
}

/** Resumes sandboxes that were paused for lack of credit, once the workspace has credit or another plan. */
export function liftedSandboxes(remover: Remover): Reaping<SandboxRow> {
  const { fleet, database } = remover
  return {
    what: 'sandbox with credit again',
    everyMs: 1_000,
    claim: (limit) => claimLifted(database.pool, limit, fleet.reachable, LEASE_SECONDS),
    remove: async (row, requestId) => {
      if (row.status === 'paused') await moveIfPossible(remover, row, 'resume', requestId)
      await settleLifted(database.pool, row.id)
    },
    retry: (id, afterSeconds) => retryCredit(database.pool, id, afterSeconds),
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
    const { last_seq: seq, status, boot_ms, boot_mode, guest_ip } = moved
    await applyStatus(database.pool, row.id, row.agent_id, seq, status, boot_ms, boot_mode, guest_ip)
  } catch (error) {
    if (!(error instanceof AgentRefused) || !NOTHING_TO_DO.has(error.status)) refuse(error)
  }
}
