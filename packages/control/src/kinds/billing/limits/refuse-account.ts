import type { WorkspaceId } from '@offshoot/contract/ids'
import type { Control } from '../../../control.ts'
import { accountOfWorkspace } from './admit-sandboxes.ts'
import { accountRefusal } from './refusal.ts'

/** @throws ApiError 402: the workspace may make nothing new */
export async function refuseAccount({ database, config }: Control, workspaceId: WorkspaceId): Promise<void> {
  const account = await accountOfWorkspace(database.pool, workspaceId, config.limits.default_plan)
  const refusal = accountRefusal(account, new Date())
  if (refusal !== null) throw refusal
}
