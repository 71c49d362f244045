import { refuse } from '../../../fleet/agent-failure.ts'
import { agentOrRetired, type Remover } from '../../../fleet/agent-or-retired.ts'
import { removeFromAgent } from '../../../fleet/snapshot-calls.ts'
import { hostsOfSnapshot } from '../../../fleet/snapshot-host-statements.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { removeSnapshotRow } from './snapshot-statements.ts'

/**
 * Removes the data first, then the row, as for sandboxes. Idempotent. The row's end is the reason to delete what other hosts
 * and the object store have, also later.
 * @throws ApiError 502
 */
export async function removeSnapshot(
  remover: Remover,
  row: Pick<SnapshotRow, 'id' | 'agent_id' | 'workspace_id'>,
  requestId: string,
): Promise<void> {
  const { pool } = remover.database
  const subject = { id: row.id, workspaceId: row.workspace_id, requestId }
  const agent = await agentOrRetired(remover, row.agent_id)
  if (agent !== null) await removeFromAgent(agent, subject).catch(refuse)
  const others = (await hostsOfSnapshot(pool, row.id)).filter(({ agent_id: id }) => id !== row.agent_id)
  await removeSnapshotRow(pool, row.id)
  for (const { agent_id: id } of others) {
    const other = remover.fleet.byId(id)
    // What does not answer is told by the reconciliation.
    if (other?.isReachable === true) await removeFromAgent(other.client, subject).catch(() => undefined)
  }
}
