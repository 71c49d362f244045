import { refuse } from '../../../fleet/agent-failure.ts'
import { agentOrRetired, type Remover } from '../../../fleet/agent-or-retired.ts'
import { removeFromAgent } from '../../../fleet/snapshot-calls.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { removeSnapshotRow } from './snapshot-statements.ts'

/** Removes the data first, then the row, as for sandboxes. Idempotent. @throws ApiError 502 */
export async function removeSnapshot(
  remover: Remover,
  row: Pick<SnapshotRow, 'id' | 'agent_id' | 'workspace_id'>,
  requestId: string,
): Promise<void> {
  const agent = await agentOrRetired(remover, row.agent_id)
  if (agent !== null) {
    await removeFromAgent(agent, { id: row.id, workspaceId: row.workspace_id, requestId }).catch(refuse)
  }
  await removeSnapshotRow(remover.database.pool, row.id)
}
