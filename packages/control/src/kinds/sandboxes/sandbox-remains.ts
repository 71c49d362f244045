import type { WorkspaceId } from '@offshoot/contract/ids'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import type { Remains } from '../../platform/idempotency/idempotency.ts'
import { presentSandbox } from '../../fleet/sandbox-row.ts'
import { sandboxOfWorkspace } from '../../fleet/sandbox-lookups.ts'

/**
 * Finds the result of a create whose process died. The row tells, once reconciliation or the agent's log has settled
 * it.
 */
export async function sandboxRemains(
  { database }: SandboxesContext,
  workspaceId: WorkspaceId,
  id: string,
): Promise<Remains> {
  const [row] = await sandboxOfWorkspace(database.pool, id, workspaceId)
  if (row === undefined) return 'nothing'
  if (row.status === 'creating') return 'unsettled'
  return { status: 201, body: JSON.stringify(presentSandbox(row)) }
}
