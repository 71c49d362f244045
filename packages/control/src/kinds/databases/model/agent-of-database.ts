import { ApiError } from '@offshoot/contract/errors'
import type { AgentClient } from '../../../fleet/agent-client.ts'
import type { Fleet } from '../../../fleet/fleet.ts'
import type { DatabaseRow } from './database-row.ts'

/** The agent of the database's host. @throws ApiError 502 if it is not known */
export function agentOfDatabase(fleet: Fleet, { agent_id: agentId }: Pick<DatabaseRow, 'agent_id'>): AgentClient {
  const agent = agentId === null ? undefined : fleet.byId(agentId)
  if (agent === undefined) throw new ApiError('agentUnreachable')
  return agent.client
}
