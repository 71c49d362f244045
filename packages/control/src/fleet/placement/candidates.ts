import type { KnownAgent } from '../agent-directory.ts'

/** An agent that has told its id, and can therefore be written into a row, and that obeys this cluster. */
export type Candidate = KnownAgent & { readonly info: NonNullable<KnownAgent['info']> }

export function isCandidate(agent: KnownAgent): agent is Candidate {
  return agent.info !== null && !agent.isForeign
}

/**
 * Agents to ask for a sandbox, best first: those that have the template baked; reachable before silent ones (an agent
 * may be back before our next look at it); then by the memory that is left once what was just promised is counted.
 */
export function candidates(agents: readonly KnownAgent[], templateName: string): Candidate[] {
  return agents
    .filter(isCandidate)
    .filter((agent) => agent.info.templates.some((template) => template.name === templateName))
    .sort((a, b) => Number(b.isReachable) - Number(a.isReachable) || leftMib(b) - leftMib(a))
}

function leftMib(agent: Candidate): number {
  return agent.info.memory_mib.available - agent.promisedMib
}
