import type { AgentLifecyclePatch } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { Lifecycle, LifecyclePatch } from '@offshoot/contract/lifecycle'
import type { Visibility } from '@offshoot/contract/sandbox'
import { refuse } from '../../../fleet/agent-failure.ts'
import { patchLifecycle, readLifecycle } from '../../../fleet/sandbox-calls.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { setLifecycle, unsettle } from './lifecycle-statements.ts'
import { presentLifecycle } from './present-lifecycle.ts'

/** What may change of a sandbox in its row and at its agent. */
type SettingsPatch = Partial<LifecyclePatch> & { readonly visibility?: Visibility }

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
  const { changed, idleSeconds } = await changeSettings(control, row, patch, requestId)
  return presentLifecycle(changed, idleSeconds)
}

/**
 * Changes who may open the ports of a sandbox. Returns once the agent refuses, or accepts, everybody who knows the
 * address.
 *
 * @throws ApiError 404, 502
 */
export async function changeVisibility(
  control: SandboxesContext,
  row: SandboxRow,
  visibility: Visibility,
  requestId: string,
): Promise<SandboxRow> {
  return (await changeSettings(control, row, { visibility }, requestId)).changed
}

async function changeSettings(
  control: SandboxesContext,
  row: SandboxRow,
  patch: SettingsPatch,
  requestId: string,
): Promise<{ readonly changed: SandboxRow; readonly idleSeconds: number }> {
  const { ttl_seconds: ttl = null, persistent = null, idle_timeout_seconds: idleTimeout = null } = patch
  const { on_timeout: onTimeout = null, visibility = null } = patch
  const { pool } = control.database
  const forAgent = patchForAgent(patch)
  const [mark] = forAgent === null ? [] : await unsettle(pool, row.id)
  const idleSeconds = await tellAgent(control, row, forAgent, requestId)
  if (ttl === null && onTimeout === null && forAgent === null) return { changed: row, idleSeconds }
  const settledMark = mark?.is_alone === true ? mark.mark : null
  const [changed] = await setLifecycle(pool, row.id, ttl, persistent, idleTimeout, settledMark, onTimeout, visibility)
  // The sandbox has expired, or its deletion has begun.
  if (changed === undefined) throw new ApiError('sandboxNotFound')
  return { changed, idleSeconds }
}

/** `null` if no field concerns the agent. */
function patchForAgent({ persistent, idle_timeout_seconds, visibility }: SettingsPatch): AgentLifecyclePatch | null {
  if (persistent === undefined && idle_timeout_seconds === undefined && visibility === undefined) return null
  return {
    ...(persistent !== undefined && { persistent }),
    ...(idle_timeout_seconds !== undefined && { idle_timeout_seconds }),
    ...(visibility !== undefined && { visibility }),
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
  const { idle_seconds: idleSeconds, visibility } = await asked.catch(refuse)
  if (patch?.visibility !== undefined && visibility !== patch.visibility) {
    throw new ApiError('agentUnreachable', { detail: "the host's agent is of a version without private previews" })
  }
  return idleSeconds
}
