import type { KnownAgent } from '../agent-directory.ts'

/** An agent with a known id, which a row can refer to, that obeys this cluster. */
export type Candidate = KnownAgent & { readonly info: NonNullable<KnownAgent['info']> }

export function isCandidate(agent: KnownAgent): agent is Candidate {
  return agent.info !== null && !agent.isForeign
}

/**
 * Whether placement may put something new there. What needs data of one host, such as a snapshot, uses
 * {@link PlacementRules.refuse}.
 */
export function isOpen(agent: KnownAgent): agent is Candidate {
  return isCandidate(agent) && !agent.isCordoned && !agent.isLost
}

/** Share of its free memory by which chance may make a host look smaller. */
const CHANCE = 0.1

/**
 * The agents to try for a sandbox, best first, among those that have the template baked. Agents that answer and accept
 * new objects come before the others, which may be back before the next poll. Then agents with more free memory come
 * first. A little chance keeps several control processes from choosing the same host at the same time.
 * @param random from 0 to 1, exclusive
 */
export function candidates(
  agents: readonly KnownAgent[],
  templateName: string,
  random: () => number = Math.random,
): Candidate[] {
  const able = agents
    .filter(isOpen)
    .filter((agent) => agent.info.templates.some((template) => template.name === templateName))
  return ranked(able, random)
}

/** The same order, of agents that can all do it. */
export function ranked(agents: readonly Candidate[], random: () => number = Math.random): Candidate[] {
  return agents
    .map((agent) => ({ agent, isWilling: isWilling(agent), score: scoreOf(leftMib(agent), random()) }))
    .sort((a, b) => Number(b.isWilling) - Number(a.isWilling) || b.score - a.score)
    .map(({ agent }) => agent)
}

/** Whether it answers and its disk has room. */
export function isWilling({ isReachable, info }: Candidate): boolean {
  return isReachable && info.disk?.state !== 'refusing'
}

/** Share of a VM's memory that an agent wants to be free before it starts the VM (agent/sandbox/model/admission.ts). */
const EARLY_SHARE = 0.25

/** Whether it may have memory for a VM of the template. The agent decides when it is asked. */
export function mayHaveRoom({ info, promisedMib }: Candidate, templateName: string): boolean {
  const size = info.templates.find(({ name }) => name === templateName)?.memory_mb
  const { available, committed, commit_limit: limit } = info.memory_mib
  return size !== undefined && available - promisedMib >= size * EARLY_SHARE && limit - committed - promisedMib >= size
}

/** Each agent is scored once, so chance cannot make the order inconsistent. */
function scoreOf(mib: number, chance: number): number {
  return mib - Math.abs(mib) * CHANCE * chance
}

/**
 * MiB that a new VM may take: the host's free memory, or what its VMs have not committed yet if that is less, minus what
 * this process has just promised.
 */
function leftMib({ info: { memory_mib: memory }, promisedMib }: Candidate): number {
  return Math.min(memory.available, memory.commit_limit - memory.committed) - promisedMib
}
