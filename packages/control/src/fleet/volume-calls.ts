import {
  agentVolume,
  type AgentVolume,
  type AgentVolumeList,
  agentVolumeList,
  type VolumeOnAgentBody,
} from '@offshoot/contract/agent-volume'
import type { AgentClient } from './agent-client.ts'
import { RECORD_TIMEOUT_MS, type Subject } from './sandbox-calls.ts'

/** Milliseconds to create, copy or grow a volume of many gigabytes. */
export const VOLUME_TIMEOUT_MS = 310_000
const REMOVE_TIMEOUT_MS = 60_000

/** All calls in this file throw AgentUnreachable and AgentRefused. */
export async function createOnAgent(
  client: AgentClient,
  body: VolumeOnAgentBody,
  workspaceId: string,
  requestId: string,
): Promise<AgentVolume> {
  const call = { method: 'POST', path: '/v1/volumes', timeoutMs: VOLUME_TIMEOUT_MS } as const
  return agentVolume.parse(await client.ask({ ...call, workspaceId, requestId, body: JSON.stringify(body) }))
}

export async function growOnAgent(client: AgentClient, of: Subject, sizeMb: number): Promise<AgentVolume> {
  const { id, workspaceId, requestId } = of
  const body = JSON.stringify({ size_mb: sizeMb })
  const call = { method: 'PATCH', path: `/v1/volumes/${id}`, timeoutMs: VOLUME_TIMEOUT_MS } as const
  return agentVolume.parse(await client.ask({ ...call, workspaceId, requestId, body }))
}

/** @param workspaceId lists this workspace's volumes; `null` lists all */
export async function listOnAgent(
  client: AgentClient,
  workspaceId: string | null,
  requestId: string,
): Promise<AgentVolumeList> {
  const call = { method: 'GET', path: '/v1/volumes', requestId, timeoutMs: RECORD_TIMEOUT_MS } as const
  return agentVolumeList.parse(await client.ask({ ...call, ...(workspaceId !== null && { workspaceId }) }))
}

/** Idempotent. */
export async function deleteOnAgent(client: AgentClient, { id, workspaceId, requestId }: Subject): Promise<void> {
  const path = `/v1/volumes/${id}`
  await client.ask({ method: 'DELETE', path, workspaceId, requestId, timeoutMs: REMOVE_TIMEOUT_MS })
}
