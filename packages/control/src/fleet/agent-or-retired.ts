import { ApiError } from '@offshoot/contract/errors'
import type { Database } from '../platform/db/database.ts'
import type { AgentClient } from './agent-client.ts'
import { retiredAgent } from './agent-statements.ts'
import type { Fleet } from './fleet.ts'

/** The services that are needed to remove an object from its agent. */
export interface Remover {
  readonly fleet: Fleet
  readonly database: Database
}

/**
 * The agent that must remove the object. `null` if the agent is retired: nothing is left of its objects.
 * @throws ApiError 502
 */
export async function agentOrRetired({ fleet, database }: Remover, agentId: string): Promise<AgentClient | null> {
  const agent = fleet.byId(agentId)
  if (agent !== undefined) return agent.client
  const [retired] = await retiredAgent(database.pool, agentId)
  if (retired === undefined) throw new ApiError('agentUnreachable')
  return null
}
