import type { AgentInfo } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import { agentIdOf, type KnownAgent } from '../../../fleet/agent-directory.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

export interface OperatedHost extends Pick<KnownAgent, 'client'> {
  readonly info: AgentInfo
}

/**
 * The agent of the host that the operator names in the path. `self` names the host if there is only one.
 * @throws ApiError 404, or 502 if the agent has never answered
 */
export function operatedHost(fleet: OrgsContext['fleet'], { params }: FastifyRequest): OperatedHost {
  const { id } = params as { id: string }
  const agent = id === 'self' ? onlyOne(fleet.agents) : fleet.agents.find((each) => agentIdOf(each) === id)
  if (agent === undefined) throw new ApiError('notFound')
  const { client, info } = agent
  if (info === null) throw new ApiError('agentUnreachable')
  return { client, info }
}

function onlyOne(agents: readonly KnownAgent[]): KnownAgent | undefined {
  return agents.length === 1 ? agents[0] : undefined
}
