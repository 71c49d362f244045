import { ApiError } from '@offshoot/contract/errors'
import type { AgentClient } from '../agents/agent-client.ts'
import type { Fleet } from '../agents/fleet.ts'
import type { Subject } from '../agents/sandbox-calls.ts'
import type { SandboxRow } from './sandbox-row.ts'

/** The agent of a sandbox that has a VM, or whose VM is on disk. @throws ApiError 404, 502 */
export function liveAgent({ fleet }: { readonly fleet: Fleet }, row: SandboxRow): AgentClient {
  if (row.status === 'creating' || row.status === 'failed') throw new ApiError('sandboxNotRunning')
  const agent = fleet.byId(row.agent_id)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  return agent.client
}

export function subjectOf(row: SandboxRow, requestId: string): Subject {
  return { id: row.id, workspaceId: row.workspace_id, requestId }
}
