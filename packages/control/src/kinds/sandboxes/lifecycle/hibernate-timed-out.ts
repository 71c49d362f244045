import { eventCode } from '@offshoot/contract/event'
import { AgentRefused, refuse } from '../../../fleet/agent-failure.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import { applyAnswer } from '../../../fleet/apply-answer.ts'
import { move, type Transition } from '../../../fleet/sandbox-calls.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import { sandboxLimitsOf } from '../../billing/limits/sandbox-limits.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { beginTimeout, extendedMeanwhile, failTimeout, timedOutIds } from './timeout-statements.ts'

/**
 * Hibernates sandboxes with `on_timeout: "pause"` at their deadline. The agent cannot hibernate a paused sandbox, so the
 * job resumes it first. A sandbox that cannot be hibernated stays as it is, and the job is retried with backoff. The job
 * never deletes a sandbox.
 */
export function hibernateTimedOut(control: SandboxesContext): RowTask {
  const { fleet, database } = control
  return {
    name: 'hibernate-sandbox',
    due: (limit) => timedOutIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [row] = await beginTimeout(database.pool, id, fleet.reachable)
      if (row !== undefined) await hibernate(control, row, requestId)
      const [extended] = await extendedMeanwhile(database.pool, id, fleet.reachable)
      if (extended !== undefined) await moveTo(control, extended, 'wake', requestId)
    },
  }
}

async function hibernate(control: SandboxesContext, row: SandboxRow, requestId: string): Promise<void> {
  try {
    if (row.status === 'paused') await moveTo(control, row, 'resume', requestId)
    await moveTo(control, row, 'hibernate', requestId)
  } catch (error) {
    // After 404 the sandbox is gone or has failed, and its agent reports that.
    const isReported = error instanceof AgentRefused && error.status !== 404
    const [failed] = await failTimeout(control.database.pool, row.id, isReported)
    if (isReported && failed?.is_first === true) await report(control, row, error)
    refuse(error)
  }
}

async function moveTo(
  control: SandboxesContext,
  row: SandboxRow,
  transition: Transition,
  requestId: string,
): Promise<void> {
  const body = transition === 'wake' ? { limits: await sandboxLimitsOf(control, row.workspace_id) } : {}
  const moved = await move(liveAgent(control, row), subjectOf(row, requestId), transition, body)
  await applyAnswer(control.database.pool, row, moved)
}

/** Tells the workspace that the sandbox outlives its deadline. */
async function report({ events, database }: SandboxesContext, row: SandboxRow, error: AgentRefused): Promise<void> {
  const type = 'sandbox.timeout_failed'
  const event = {
    ts: new Date().toISOString(),
    sandbox_id: row.id,
    agent_id: row.agent_id,
    type,
    code: eventCode(type),
    message: 'The sandbox could not be hibernated at its deadline, and is tried again',
    metadata: { error: error.body.error },
  } as const
  const record = { seq: 0, number: 0, workspace_id: row.workspace_id, event }
  await events.prepare([record])
  await events.append(database.pool, [record])
}
