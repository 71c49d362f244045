import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxesContext } from './sandboxes-context.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { sandboxById, setCreated } from './sandbox-statements.ts'

/**
 * Applies the agent's answer to the row, unless the log was faster. If the row is gone, deletes the VM as well.
 *
 * @throws ApiError 409 if the sandbox was deleted meanwhile
 */
export async function settleCreated(
  { database, fleet }: SandboxesContext,
  agentId: string,
  made: AgentSandbox,
  requestId: string,
): Promise<SandboxRow> {
  const [updated] = await setCreated(
    database.pool,
    made.id,
    agentId,
    made.status,
    made.boot_ms,
    made.boot_mode,
    made.guest_ip,
    made.cpu,
    made.memory_mb,
    made.last_seq,
  )
  if (updated !== undefined) return updated
  const [current] = await sandboxById(database.pool, made.id)
  if (current !== undefined) return current
  await fleet.byId(agentId)?.client.remove(made.id, made.workspace_id, requestId)
  throw deletedMeanwhile()
}

export function deletedMeanwhile(): ApiError {
  return new ApiError('conflict', { detail: 'the sandbox was deleted while it was being created' })
}
