import { ApiError } from '@offshoot/contract/errors'
import type { Database } from '../platform/db/database.ts'
import type { AgentClient } from './agent-client.ts'
import { retiredAgent } from './agent-statements.ts'
import type { Fleet } from './fleet.ts'

/** What is needed to remove something from the agent that has it. */
export interface Remover {
  readonly fleet: Fleet
  readonly database: Database
}

/** Who has to remove something; `null` when that agent is retired, because nothing is left of what it had. @throws ApiError 502 */
export async function agentOrRetired({ fleet, database }: Remover, agentId: string): Promise<AgentClient | null> {
  const agent = fleet.byId(agentId)
  if (agent !== undefined) return agent.client
  const [retired] = await retiredAgent(database.pool, agentId)
  if (retired === undefined) throw new ApiError('agentUnreachable')
  return null
}
