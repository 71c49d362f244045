import { ApiError } from '@offshoot/contract/errors'
import type { AgentClient } from '../../fleet/agent-client.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { DatabaseRow } from './database-row.ts'

/** The agent of the host that a database is on. @throws ApiError 502 while there is none */
export function agentOfDatabase(fleet: Fleet, { agent_id: agentId }: Pick<DatabaseRow, 'agent_id'>): AgentClient {
  const agent = agentId === null ? undefined : fleet.byId(agentId)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  return agent.client
}
