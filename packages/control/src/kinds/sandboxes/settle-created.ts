import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxesContext } from './sandboxes-context.ts'
import type { SandboxRow } from '../../fleet/sandbox-row.ts'
import { sandboxById, setCreated } from './sandbox-statements.ts'

/**
 * The row takes what the agent answered, unless the log was faster; without a row there must not be a VM either.
 *
 * @throws ApiError 409 when it was deleted meanwhile
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
