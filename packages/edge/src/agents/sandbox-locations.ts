import { type AgentSandbox, type AgentRecord } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import type { SandboxId } from '@offshoot/contract/ids'
import { type SandboxStatus, type Visibility, visibility as parseVisibility } from '@offshoot/contract/sandbox'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { Agent } from './agent.ts'

/** Maximum locations to keep. Beyond it the oldest is dropped; the edge asks the agents again when it needs it. */
const MAX_KEPT = 200_000
/**
 * Concurrent queries about unknown ids: per visitor address, and in total. Beyond them a visitor who guesses ids gets a
 * 404 without a query.
 */
const MAX_ASKING_OF_VISITOR = 32
const MAX_ASKING = 64

export interface SandboxLocation {
  readonly agent: Agent
  /** The agent's last report. It only saves queries; the agent's answer decides. */
  readonly status: SandboxStatus
  /** The same: an agent refuses visitors who are not admitted to a private sandbox, whatever the edge knows. */
  readonly visibility: Visibility
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
export class SandboxLocations {
  readonly #agents: Set<Agent>
  readonly #locations = new Map<SandboxId, SandboxLocation>()
  readonly #asking = new FairLimit(MAX_ASKING_OF_VISITOR, MAX_ASKING)
  readonly #questions = new Map<SandboxId, Promise<SandboxLocation | null>>()

  constructor(agents: readonly Agent[]) {
    this.#agents = new Set(agents)
  }

  /** Asks control for the address of the agent that may wake a sandbox; `null`: there is none. */
  askRelease: (id: SandboxId) => Promise<string | null> = async () => null

  /** Called with the sandboxes of a host that has been removed. */
  onRemoved: (ids: ReadonlySet<SandboxId>) => void = () => undefined

  addAgent(agent: Agent): void {
    this.#agents.add(agent)
  }

  /** The host has been removed: its sandboxes are unknown from now on. */
  removeAgent(agent: Agent): void {
    this.#agents.delete(agent)
    const ids = [...this.#locations].flatMap(([id, location]) => (location.agent === agent ? [id] : []))
    for (const id of ids) this.#locations.delete(id)
    this.onRemoved(new Set(ids))
  }

  /** The known location; asks no agent. */
  known(id: SandboxId): SandboxLocation | undefined {
    return this.#locations.get(id)
  }

  /**
   * Asks all agents if the location is unknown, because a request may arrive before the event of a new sandbox. Negative
   * answers are not cached. Concurrent requests for one id share a query.
   * @param visitor address of the visitor
   */
  async find(id: SandboxId, visitor: string, signal: AbortSignal): Promise<SandboxLocation | null> {
    const known = this.#locations.get(id)
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

  /**
   * The agent that may wake the sandbox, according to control. Another host than the known one is believed, because control
   * says so and not the host.
   * @throws if control cannot be asked
   */
  async release(id: SandboxId): Promise<Agent | null> {
    const url = await this.askRelease(id)
    const agent = [...this.#agents].find((each) => each.url === url)
    const known = this.#locations.get(id)
    if (agent !== undefined && known !== undefined) this.#locations.set(id, { ...known, agent })
    return agent ?? null
  }

  /** The agent does not have the sandbox any more. */
  forget(id: SandboxId): void {
    this.#locations.delete(id)
  }

  /** Replaces all locations of an agent. */
  replace(agent: Agent, sandboxes: readonly AgentSandbox[]): void {
    const ids = new Set(sandboxes.map(({ id }) => id as SandboxId))
    for (const [id, location] of this.#locations)
      if (location.agent === agent && !ids.has(id)) this.#locations.delete(id)
    for (const sandbox of sandboxes) this.#set(agent, sandbox)
  }

  apply(agent: Agent, { event }: AgentRecord): void {
    const id = event.sandbox_id as SandboxId
    const status = STATUS_AFTER[event.type]
    const owner = this.#locations.get(id)?.agent
    if (owner !== undefined && owner !== agent) return
    if (event.type === 'sandbox.deleted') this.#locations.delete(id)
    else if (event.type === 'sandbox.visibility_changed') this.#changeVisibility(id, event.metadata['visibility'])
    else if (status !== undefined) {
      const told = parseVisibility.safeParse(event.metadata['visibility']).data
      this.#set(agent, { id, status, visibility: told ?? this.#locations.get(id)?.visibility ?? 'public' })
    }
  }

  /** The agent has refused a visitor who was not admitted. */
  markPrivate(id: SandboxId): void {
    this.#changeVisibility(id, 'private')
  }

  /** An unknown sandbox stays unknown. The edge asks for it when somebody visits it. */
  #changeVisibility(id: SandboxId, given: unknown): void {
    const visibility = parseVisibility.safeParse(given).data
    const known = this.#locations.get(id)
    if (known !== undefined && visibility !== undefined) this.#locations.set(id, { ...known, visibility })
  }

  async #ask(id: SandboxId, signal: AbortSignal): Promise<SandboxLocation | null> {
    const answers = await Promise.all(
      [...this.#agents].map(async (agent) => {
        const sandbox = await agent.find(id, signal).catch(() => null)
        return sandbox === null ? null : this.#set(agent, sandbox)
      }),
    )
    return answers.find((location) => location !== null) ?? null
  }

  /** A host cannot take over the sandbox of another one, so that a stolen key of a host opens only what is there. */
  #set(agent: Agent, { id, status, visibility }: Pick<AgentSandbox, 'id' | 'status' | 'visibility'>): SandboxLocation {
    const known = this.#locations.get(id as SandboxId)
    if (known !== undefined && known.agent !== agent) return known
    const location = { agent, status, visibility }
    this.#locations.set(id as SandboxId, location)
    if (this.#locations.size > MAX_KEPT) this.#locations.delete(this.#locations.keys().next().value as SandboxId)
    return location
  }
}
