import type { AgentRecord } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import { ownersOfSandboxes } from './record-statements.ts'

/**
 * The records of a host that has joined, without those about sandboxes that are on another host or belong to another
 * workspace: they are forged. A sandbox without a row may have been deleted already, so its records count.
 */
export async function ownRecords(
  pool: pg.Pool,
  agentId: string,
  records: readonly AgentRecord[],
): Promise<readonly AgentRecord[]> {
  const ids = records.flatMap(({ event: { sandbox_id: id } }) => (isUuid(id) ? [id] : []))
  const rows = new Map((await ownersOfSandboxes(pool, ids)).map((row) => [row.id, row]))
  return records.filter(({ workspace_id: workspaceId, event }) => {
    const row = rows.get(event.sandbox_id)
    if (row === undefined) return true
    return row.agent_id === agentId && (workspaceId === null || workspaceId === row.workspace_id)
  })
}
