import { ApiError } from '@offshoot/contract/errors'
import type { KnownAgent } from '../agent-directory.ts'

/** An agent with a known id, which a row can refer to, that obeys this cluster. */
export type Candidate = KnownAgent & { readonly info: NonNullable<KnownAgent['info']> }

export function isCandidate(agent: KnownAgent): agent is Candidate {
  return agent.info !== null && !agent.isForeign
}

/**
 * Whether placement may put something new there. What needs data of a cordoned host, such as a snapshot, uses
 * {@link refuseCordoned}.
 */
export function isOpen(agent: KnownAgent): agent is Candidate {
  return isCandidate(agent) && !agent.isCordoned
}

/** For something new that can be on this host only. @throws ApiError 502 if the host is cordoned */
export function refuseCordoned(agent: KnownAgent | undefined): void {
  if (agent?.isCordoned === true) throw new ApiError('noComputeNode', { detail: 'the host is cordoned' })
}

/**
 * The agents to try for a sandbox, best first. Agents that have the template baked come first. Then reachable agents
 * come before unreachable ones, which may be back before the next poll. Then agents with more free memory come first,
 * after subtracting what was just promised.
 */
export function candidates(agents: readonly KnownAgent[], templateName: string): Candidate[] {
  return agents
    .filter(isOpen)
    .filter((agent) => agent.info.templates.some((template) => template.name === templateName))
    .sort((a, b) => Number(b.isReachable) - Number(a.isReachable) || leftMib(b) - leftMib(a))
}

function leftMib(agent: Candidate): number {
  return agent.info.memory_mib.available - agent.promisedMib
}
