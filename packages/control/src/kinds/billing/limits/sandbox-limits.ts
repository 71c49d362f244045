import type { WorkspaceId } from '@offshoot/contract/ids'
import { type PlanName, PLANS } from '@offshoot/contract/plan'
import type { SandboxLimits } from '@offshoot/contract/sandbox-limits'
import type { BillingContext } from '../model/billing-context.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { unsettleWorkspace } from './quota-statements.ts'
import { accountOfWorkspace } from '../../orgs/identity/account-statements.ts'

/** The performance limits of each sandbox of a workspace. */
export async function sandboxLimitsOf(
  { database: { pool }, config }: Pick<BillingContext, 'database' | 'config'>,
  workspaceId: string,
): Promise<SandboxLimits> {
  const { plan } = await accountOfWorkspace(pool, workspaceId as WorkspaceId, config.limits.default_plan)
  return PLANS[plan].sandboxLimits
}

/**
 * After a change of plan, makes the next reconciliation send the new limits to the agents
 * ({@link file://../../sandboxes/lifecycle/resend-lifecycles.ts}).
 */
export async function resendLimits(on: Queryable, workspaceId: string, before: PlanName | undefined, now: PlanName) {
  if (before !== now) await unsettleWorkspace(on, workspaceId)
}
