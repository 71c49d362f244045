import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { PlanName } from '@offshoot/contract/plan'
import type { Queryable } from '../../../platform/db/statement.ts'
import { accountOf, type PlanSource, upsertPlan } from '../../orgs/identity/account-statements.ts'
import { resendLimits } from './sandbox-limits.ts'

/**
 * Sets a workspace's plan. Existing objects stay, even if the new plan allows fewer. The check for spent credit follows
 * within seconds, and the new performance limits of its sandboxes within minutes.
 *
 * @throws ApiError 404 if the workspace does not exist
 */
export async function setPlan(
  on: Queryable,
  workspaceId: WorkspaceId,
  plan: PlanName,
  source: PlanSource = 'operator',
): Promise<void> {
  const [before] = await accountOf(on, workspaceId)
  const [row] = await upsertPlan(on, workspaceId, plan, source)
  if (row === undefined) throw new ApiError('notFound')
  await resendLimits(on, workspaceId, before?.plan, plan)
}
