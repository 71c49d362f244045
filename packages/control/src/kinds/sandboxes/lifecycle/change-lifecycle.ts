import type { AgentLifecyclePatch } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { Lifecycle, LifecyclePatch } from '@offshoot/contract/lifecycle'
import { refuse } from '../../../fleet/agent-failure.ts'
import { patchLifecycle, readLifecycle } from '../../../fleet/sandbox-calls.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { setLifecycle, unsettle } from './lifecycle-statements.ts'
import { presentLifecycle } from './present-lifecycle.ts'

/**
 * Changes the fields in `patch`, first at the agent, then in the row. If the agent cannot be reached, nothing changes.
 * An empty patch only reads.
 *
 * @throws ApiError 404, 502
 */
export async function changeLifecycle(
  control: SandboxesContext,
  row: SandboxRow,
  patch: Partial<LifecyclePatch>,
  requestId: string,
): Promise<Lifecycle> {
  const { ttl_seconds: ttl = null, persistent = null, idle_timeout_seconds: idleTimeout = null } = patch
  const { on_timeout: onTimeout = null } = patch
  const { pool } = control.database
  const forAgent = patchForAgent(patch)
  const [mark] = forAgent === null ? [] : await unsettle(pool, row.id)
  const idleSeconds = await tellAgent(control, row, forAgent, requestId)
  if (ttl === null && onTimeout === null && forAgent === null) return presentLifecycle(row, idleSeconds)
  const settledMark = mark?.is_alone === true ? mark.mark : null
  const [changed] = await setLifecycle(pool, row.id, ttl, persistent, idleTimeout, settledMark, onTimeout)
  // The sandbox has expired, or its deletion has begun.
  if (changed === undefined) throw new ApiError('sandboxNotFound')
  return presentLifecycle(changed, idleSeconds)
}

/** `null` if no field concerns the agent. */
function patchForAgent({ persistent, idle_timeout_seconds }: Partial<LifecyclePatch>): AgentLifecyclePatch | null {
  if (persistent === undefined && idle_timeout_seconds === undefined) return null
  return {
    ...(persistent !== undefined && { persistent }),
    ...(idle_timeout_seconds !== undefined && { idle_timeout_seconds }),
  }
}

/** @returns the seconds for which the sandbox has been idle. A failed VM gets no settings and counts as not idle */
async function tellAgent(
  control: SandboxesContext,
  row: SandboxRow,
  patch: AgentLifecyclePatch | null,
  requestId: string,
): Promise<number> {
  if (row.status === 'failed') return 0
  const agent = liveAgent(control, row)
  const subject = subjectOf(row, requestId)
  const asked = patch === null ? readLifecycle(agent, subject) : patchLifecycle(agent, subject, patch)
  const { idle_seconds: idleSeconds } = await asked.catch(refuse)
  return idleSeconds
}
