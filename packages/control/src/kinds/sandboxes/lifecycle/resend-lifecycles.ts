import type { ReconcileOptions } from '../../../fleet/agent-hooks.ts'
import { PLANS } from '@offshoot/contract/plan'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import { PATCH_TIMEOUT_MS, patchLifecycle } from '../../../fleet/sandbox-calls.ts'
import { settle, unsettledOfAgent } from './lifecycle-statements.ts'

/** Seconds that a change may take, including its call to the agent. */
const CHANGE_SECONDS = PATCH_TIMEOUT_MS / 1000 + 15

/** Sends an agent the lifecycle settings of its unsettled sandboxes again, from the rows and the plan. */
export async function resendLifecycles(
  { pool, client, agentId, log }: ReconcileOptions,
  requestId: string,
): Promise<void> {
  for (const row of await unsettledOfAgent(pool, agentId, CHANGE_SECONDS)) {
    const { id, workspace_id: workspaceId, persistent, idle_timeout_seconds: idleTimeout, visibility, plan, mark } = row
    log.info({ agent: agentId, sandbox: id }, 'telling the agent the lifecycle again')
    const limits = plan === null ? {} : { limits: PLANS[plan].sandboxLimits }
    const patch = { persistent, idle_timeout_seconds: idleTimeout, visibility, ...limits }
    await patchLifecycle(client, { id, workspaceId, requestId }, patch).catch((error: unknown) => {
      // A sandbox that is gone or has failed has no lifecycle settings that could differ.
      if (!(error instanceof AgentRefused)) throw error
    })
    await settle(pool, id, mark)
  }
}
