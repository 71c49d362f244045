import { ApiError } from '@offshoot/contract/errors'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { Deadline } from '@offshoot/kit/deadline'
import { CREATE_TIMEOUT_MS } from '../agent-client.ts'
import { AgentRefused } from '../agent-failure.ts'
import type { CreateOutcome } from '../create-outcome.ts'
import type { Candidate } from './candidates.ts'

export interface Placed {
  readonly agentId: string
  readonly sandbox: AgentSandbox
}

type Failure = Exclude<CreateOutcome, { kind: 'created' }>

/** Hosts that are asked for one sandbox. More would only make the caller wait for the same answer. */
const MAX_ASKED = 3

/**
 * Asks one agent after the other until one has created the sandbox: three agents at most, within one deadline.
 *
 * @param ask sends one create to one agent, which has that many milliseconds to answer
 * @throws ApiError once all have failed: 507 if every agent had no room, 502 if none could be reached, 500 if one tried
 * and could not start the VM (docs/adr/0002)
 */
export async function place(
  candidates: readonly Candidate[],
  memoryMb: number,
  ask: (agent: Candidate, timeoutMs: number) => Promise<CreateOutcome>,
  deadline: Deadline = Deadline.after(CREATE_TIMEOUT_MS, 'placement'),
): Promise<Placed> {
  const failures: Failure[] = []
  for (const agent of candidates.slice(0, MAX_ASKED)) {
    const timeoutMs = Math.ceil(deadline.remainingMs)
    if (timeoutMs === 0) break
    agent.promisedMib += memoryMb
    const outcome = await ask(agent, timeoutMs).finally(() => (agent.promisedMib -= memoryMb))
    if (outcome.kind === 'created') return { agentId: agent.info.agent_id, sandbox: outcome.sandbox }
    failures.push(outcome)
  }
  throw verdict(failures)
}

function verdict(failures: readonly Failure[]): ApiError {
  const cause = new AggregateError(failures.map((failure) => failure.error))
  if (failures.length === 0) return new ApiError('noComputeNode')
  if (failures.every((failure) => failure.kind === 'no-room')) return noRoom(failures, cause)
  if (failures.some((failure) => failure.kind === 'refused')) {
    return new ApiError('internal', { error: 'sandbox could not be started' }, { cause })
  }
  const isReachable = failures.some((failure) => failure.kind === 'no-room')
  return new ApiError(isReachable ? 'noComputeNode' : 'agentUnreachable', {}, { cause })
}

/** Uses the agents' own text if all give the same, because the disk instead of the memory may be full. */
function noRoom(failures: readonly Failure[], cause: Error): ApiError {
  const reasons = new Set(failures.map(({ error }) => (error instanceof AgentRefused ? error.body.error : undefined)))
  const [error] = reasons
  return new ApiError('insufficientMemory', error !== undefined && reasons.size === 1 ? { error } : {}, { cause })
}
