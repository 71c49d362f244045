import {
  type AgentSnapshot,
  agentSnapshot,
  type AgentSnapshotList,
  agentSnapshotList,
} from '@offshoot/contract/agent-api'
import type { AgentClient } from './agent-client.ts'
import { MEMORY_TIMEOUT_MS, RECORD_TIMEOUT_MS, type Subject } from './sandbox-calls.ts'

/** @param snapshotId chosen by control, which has already inserted the row */
export async function takeSnapshot(client: AgentClient, of: Subject, snapshotId: string): Promise<AgentSnapshot> {
  const { id, workspaceId, requestId } = of
  const body = JSON.stringify({ id: snapshotId })
  const path = `/v1/sandboxes/${id}/snapshots`
  const call = { method: 'POST', path, workspaceId, requestId, body, timeoutMs: MEMORY_TIMEOUT_MS } as const
  return agentSnapshot.parse(await client.ask(call))
}

/** Lists the snapshots of all workspaces. */
export async function listSnapshots(client: AgentClient, requestId: string): Promise<AgentSnapshotList> {
  const call = { method: 'GET', path: '/v1/snapshots', requestId, timeoutMs: RECORD_TIMEOUT_MS } as const
  return agentSnapshotList.parse(await client.ask(call))
}
