import { refuse } from '../../../fleet/agent-failure.ts'
import { agentOrRetired, type Remover } from '../../../fleet/agent-or-retired.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { removeDeletedSandboxRow, removeSandboxRow } from './sandbox-statements.ts'

/**
 * Removes the VM first, then the row, so that the row stays as long as something may be left on an unreachable agent.
 * Idempotent, also for concurrent calls.
 *
 * @throws ApiError 502
 */
export async function removeSandbox(remover: Remover, row: SandboxRow, requestId: string): Promise<void> {
  const agent = await agentOrRetired(remover, row.agent_id)
  if (agent === null) return void (await removeSandboxRow(remover.database.pool, row.id))
  await agent.remove(row.id, row.workspace_id, requestId).catch(refuse)
  await removeDeletedSandboxRow(remover.database.pool, row.id)
}
