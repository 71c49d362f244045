import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { PlanName } from '@offshoot/contract/plan'
import type { Queryable } from '../../../platform/db/statement.ts'
import { accountOf, type PlanSource, upsertPlan } from '../../orgs/account-statements.ts'
import { retellLimits } from './sandbox-limits.ts'

/**
 * Puts a workspace on a plan. What it has already stays, also where the new plan allows less; whether its credit is
 * spent is looked at anew within seconds. Its sandboxes are as fast as the new plan says within minutes.
 *
 * @throws ApiError 404 when there is no such workspace
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
  await retellLimits(on, workspaceId, before?.plan, plan)
}
