import { type AgentSandbox, type AgentRecord } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import type { SandboxId } from '@offshoot/contract/ids'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { Agent } from './agent.ts'

/** Maximum places to keep. Beyond it the oldest is dropped; the edge asks the agents again when it needs it. */
const MAX_KEPT = 200_000
/**
 * Concurrent queries about unknown ids: per visitor address, and in total. Beyond them a visitor who guesses ids gets a
 * 404 without a query.
 */
const MAX_ASKING_OF_VISITOR = 32
const MAX_ASKING = 64

export interface Place {
  readonly agent: Agent
  /** The agent's last report. It only saves queries; the agent's answer decides. */
  readonly status: SandboxStatus
}

const STATUS_AFTER: Partial<Record<EventType, SandboxStatus>> = {
  'sandbox.running': 'running',
  'sandbox.resumed': 'running',
  'sandbox.woken': 'running',
  'sandbox.paused': 'paused',
  'sandbox.hibernated': 'hibernated',
  'vm.died': 'failed',
  'recover.orphaned': 'failed',
}

/** Which agent has each sandbox. Held in memory only: a restarted edge gets it from the agents again. */
export class Places {
  readonly #agents: readonly Agent[]
  readonly #places = new Map<SandboxId, Place>()
  readonly #asking = new FairLimit(MAX_ASKING_OF_VISITOR, MAX_ASKING)
  readonly #questions = new Map<SandboxId, Promise<Place | null>>()

  constructor(agents: readonly Agent[]) {
    this.#agents = agents
  }

  /** The known place; asks no agent. */
  known(id: SandboxId): Place | undefined {
    return this.#places.get(id)
  }

  /**
   * Asks all agents if the place is unknown, because a request may arrive before the event of a new sandbox. Negative
   * answers are not cached. Concurrent requests for one id share a query.
   * @param visitor address of the visitor
   */
  async find(id: SandboxId, visitor: string, signal: AbortSignal): Promise<Place | null> {
    const known = this.#places.get(id)
    if (known !== undefined) return known
    const done = this.#asking.take(visitor)
    if (done === null) return null
    const question = this.#questions.get(id) ?? this.#ask(id, signal)
    this.#questions.set(id, question)
    try {
      return await question
    } finally {
      this.#questions.delete(id)
      done()
    }
  }

  /** The agent does not have the sandbox any more. */
  forget(id: SandboxId): void {
    this.#places.delete(id)
  }

  /** Replaces all places of an agent. */
  replace(agent: Agent, sandboxes: readonly AgentSandbox[]): void {
    const ids = new Set(sandboxes.map(({ id }) => id as SandboxId))
    for (const [id, place] of this.#places) if (place.agent === agent && !ids.has(id)) this.#places.delete(id)
    for (const sandbox of sandboxes) this.#set(agent, sandbox)
  }

  apply(agent: Agent, { event }: AgentRecord): void {
    const id = event.sandbox_id as SandboxId
    const status = STATUS_AFTER[event.type]
    if (event.type === 'sandbox.deleted') this.#places.delete(id)
    else if (status !== undefined) this.#set(agent, { id, status })
  }

  async #ask(id: SandboxId, signal: AbortSignal): Promise<Place | null> {
    const answers = await Promise.all(
      this.#agents.map(async (agent) => {
        const sandbox = await agent.find(id, signal).catch(() => null)
        return sandbox === null ? null : this.#set(agent, sandbox)
      }),
    )
    return answers.find((place) => place !== null) ?? null
  }

  #set(agent: Agent, { id, status }: Pick<AgentSandbox, 'id' | 'status'>): Place {
    const place = { agent, status }
    this.#places.set(id as SandboxId, place)
    if (this.#places.size > MAX_KEPT) this.#places.delete(this.#places.keys().next().value as SandboxId)
    return place
  }
}
