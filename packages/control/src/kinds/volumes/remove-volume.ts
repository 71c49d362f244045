import { refuse } from '../../fleet/agent-failure.ts'
import { agentOrRetired, type Remover } from '../../fleet/agent-or-retired.ts'
import { deleteOnAgent } from '../../fleet/volume-calls.ts'
import type { VolumeRow } from './volume-row.ts'
import { removeVolumeRow } from './volume-statements.ts'

/**
 * Removes the data first, then the row, as for sandboxes. Idempotent.
 * @throws ApiError 409 naming the sandbox that has it attached, 502
 */
export async function removeVolume(remover: Remover, row: VolumeRow, requestId: string): Promise<void> {
  const agent = await agentOrRetired(remover, row.agent_id)
  if (agent !== null) await deleteOnAgent(agent, { id: row.id, workspaceId: row.workspace_id, requestId }).catch(refuse)
  await removeVolumeRow(remover.database.pool, row.id)
}
