import type { KnownAgent } from '../agent-directory.ts'

/** An agent with a known id, which a row can refer to, that obeys this cluster. */
export type Candidate = KnownAgent & { readonly info: NonNullable<KnownAgent['info']> }

export function isCandidate(agent: KnownAgent): agent is Candidate {
  return agent.info !== null && !agent.isForeign
}

/**
 * The agents to try for a sandbox, best first. Agents that have the template baked come first. Then reachable agents
 * come before unreachable ones, which may be back before the next poll. Then agents with more free memory come first,
 * after subtracting what was just promised.
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
