import type { WorkspaceId } from '@offshoot/contract/ids'
import type { BillingContext } from '../model/billing-context.ts'
import { accountOfWorkspace } from '../../orgs/identity/account-statements.ts'
import { accountRefusal } from './refusal.ts'

/** @throws ApiError 402 if the workspace may create nothing */
export async function refuseAccount({ database, config }: BillingContext, workspaceId: WorkspaceId): Promise<void> {
  const account = await accountOfWorkspace(database.pool, workspaceId, config.limits.default_plan)
  const refusal = accountRefusal(account, new Date())
  if (refusal !== null) throw refusal
}
