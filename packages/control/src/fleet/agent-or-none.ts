import type { AgentClient } from './agent-client.ts'
import type { Remover } from './agent-or-retired.ts'
import { retiredAgent } from './agent-statements.ts'

/** `gone`: an operator has removed the host. `away`: it does not answer now. */
export type AgentOrNone = AgentClient | 'gone' | 'away'

export async function agentOrNone({ fleet, database }: Remover, agentId: string): Promise<AgentOrNone> {
  const agent = fleet.byId(agentId)
  if (agent?.isReachable === true) return agent.client
  const [retired] = await retiredAgent(database.pool, agentId)
  return retired === undefined ? 'away' : 'gone'
}
