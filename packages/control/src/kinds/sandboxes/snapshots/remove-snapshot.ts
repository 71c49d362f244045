import { refuse } from '../../../fleet/agent-failure.ts'
import { agentOrRetired, type Remover } from '../../../fleet/agent-or-retired.ts'
import { removeArtifact } from '../../../fleet/artifact-calls.ts'
import { hostsOfArtifact } from '../../../fleet/artifact-host-statements.ts'
import { removeFromHosts } from '../../../fleet/remove-from-hosts.ts'
import type { SnapshotRow } from './snapshot-row.ts'
import { removeSnapshotRow } from './snapshot-statements.ts'

/**
 * Removes the data first, then the row, as for sandboxes. Idempotent. The row's end is the reason to delete what other hosts
 * and the object store have, also later.
 * @throws ApiError 502
 */
export async function removeSnapshot(
  remover: Remover,
  { id, agent_id, workspace_id }: Pick<SnapshotRow, 'id' | 'agent_id' | 'workspace_id'>,
  requestId: string,
): Promise<void> {
  const { pool } = remover.database
  const subject = { id, kind: 'snapshot', workspace_id, requestId } as const
  const agent = await agentOrRetired(remover, agent_id)
  if (agent !== null) await removeArtifact(agent, subject).catch(refuse)
  const hosts = await hostsOfArtifact(pool, id)
  await removeSnapshotRow(pool, id)
  await removeFromHosts(
    remover,
    hosts.filter((host) => host.agent_id !== agent_id),
    subject,
  )
}
