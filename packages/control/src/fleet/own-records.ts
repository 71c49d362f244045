import type { AgentRecord } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { ArrivedBatch } from './apply-records.ts'
import { ownersOfSandboxes } from './record-statements.ts'

/**
 * The records of each batch that count. A host that has joined may not tell of sandboxes that are on another host or
 * belong to another workspace: such records are forged. A sandbox without a row may have been deleted already, so its
 * records count.
 */
export async function ownRecords(
  pool: pg.Pool,
  batches: readonly ArrivedBatch[],
): Promise<readonly (readonly AgentRecord[])[]> {
  const ids = batches.flatMap(({ hasJoined, records }) => (hasJoined ? records.flatMap(idOf) : []))
  const rows = new Map(
    ids.length === 0 ? [] : (await ownersOfSandboxes(pool, [...new Set(ids)])).map((row) => [row.id, row]),
  )
  return batches.map(({ agentId, hasJoined, records }) => {
    if (!hasJoined) return records
    return records.filter(({ workspace_id: workspaceId, event }) => {
      const row = rows.get(event.sandbox_id)
      if (row === undefined) return true
      return row.agent_id === agentId && (workspaceId === null || workspaceId === row.workspace_id)
    })
  })
}

function idOf({ event: { sandbox_id: id } }: AgentRecord): string[] {
  return isUuid(id) ? [id] : []
}
