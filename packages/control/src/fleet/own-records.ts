import type { AgentRecord } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { AgentRecords } from './apply-records.ts'
import { ownersOfSandboxes } from './record-statements.ts'

/**
 * The logs, those of hosts that have joined without records about sandboxes that are on another host or belong to
 * another workspace: they are forged. A sandbox without a row may have been deleted already, so its records count.
 */
export async function ownRecords<L extends AgentRecords & { readonly hasJoined: boolean }>(
  pool: pg.Pool,
  logs: readonly L[],
): Promise<readonly L[]> {
  const ids = logs.filter(({ hasJoined }) => hasJoined).flatMap(({ records }) => records.map(sandboxOf).filter(isUuid))
  if (ids.length === 0) return logs
  const rows = new Map((await ownersOfSandboxes(pool, ids)).map((row) => [row.id, row]))
  const isOwn = (agentId: string, { workspace_id: workspaceId, event }: AgentRecord) => {
    const row = rows.get(event.sandbox_id)
    if (row === undefined) return true
    return row.agent_id === agentId && (workspaceId === null || workspaceId === row.workspace_id)
  }
  return logs.map((log) =>
    log.hasJoined ? { ...log, records: log.records.filter((record) => isOwn(log.agentId, record)) } : log,
  )
}

const sandboxOf = ({ event }: AgentRecord): string => event.sandbox_id
