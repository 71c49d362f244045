import { ApiError } from '@offshoot/contract/errors'
import type { AgentClient } from './agent-client.ts'
import type { Fleet } from './fleet.ts'
import type { Subject } from './sandbox-calls.ts'
import type { SandboxLocation } from './sandbox-locations.ts'

/** The agent of a sandbox that has a VM, in memory or hibernated. @throws ApiError 404, 502 */
export function liveAgent({ fleet }: { readonly fleet: Fleet }, place: SandboxLocation): AgentClient {
  if (place.status === 'creating' || place.status === 'failed') throw new ApiError('sandboxNotRunning')
  const agent = fleet.byId(place.agent_id)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  return agent.client
}

export function subjectOf({ id, workspace_id }: SandboxLocation, requestId: string): Subject {
  return { id, workspaceId: workspace_id, requestId }
}
