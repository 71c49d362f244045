import { refuse } from '../../../fleet/agent-failure.ts'
import { agentOrRetired, type Remover } from '../../../fleet/agent-or-retired.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { removeDeletedSandboxRow, removeSandboxRow, sandboxById } from './sandbox-statements.ts'

/**
 * Removes the VM first, then the row, so that the row stays as long as something may be left on an unreachable agent.
 * Idempotent, also for concurrent calls. If the sandbox moves to another agent meanwhile, it is removed there, too.
 *
 * @throws ApiError 502
 */
export async function removeSandbox(remover: Remover, row: SandboxRow, requestId: string): Promise<void> {
  const agent = await agentOrRetired(remover, row.agent_id)
  await agent?.remove(row.id, row.workspace_id, requestId).catch(refuse)
  const { pool } = remover.database
  const remove = agent === null ? removeSandboxRow : removeDeletedSandboxRow
  const [removed] = await remove(pool, row.id, row.agent_id)
  if (removed !== undefined) return
  const [moved] = await sandboxById(pool, row.id)
  if (moved !== undefined) await removeSandbox(remover, moved, requestId)
}
