import { randomUUID } from 'node:crypto'
import type { AgentInfo } from '@offshoot/contract/agent-api'
import type { HostLabels } from '@offshoot/contract/host-label'
import type { Logger } from 'pino'
import type { Database } from '../platform/db/database.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { AgentAddress } from './agent-address.ts'
import { AgentClient } from './agent-client.ts'
import { failSandboxesOf, retireOthers, upsertAgent } from './agent-statements.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { leaveArtifacts } from './artifact-host-statements.ts'

/** Milliseconds between two polls of a reachable agent, on average, and of an unreachable one. */
const LOOK_MS = 2_000
const LOOK_AGAIN_MS = 200
/** How much shorter or longer such a pause may be. Polls of all agents at the same moment would delay every request. */
const JITTER = 0.5

/** Whether the agent obeys another cluster, so that this control must not use it. */
export function isForeign(info: AgentInfo, clusterId: string): boolean {
  return typeof info.cluster_id === 'string' && info.cluster_id !== clusterId
}

/** This process's knowledge of one agent. */
export interface KnownAgent {
  readonly client: AgentClient
  /** The host that has joined; `null`: the agent is in the configuration. */
  readonly hostId: string | null
  /** From the last poll that was answered; `null` before the first. */
  info: AgentInfo | null
  /** Whether the last poll was answered and no connection has failed since. */
  isReachable: boolean
  /** According to the last answered poll the agent obeys another cluster. This control places nothing on it. */
  isForeign: boolean
  /** An operator cordoned the host, so placement puts nothing new on it. Read from the rows. */
  isCordoned: boolean
  /** No control process has heard the host for a while, so placement puts nothing new on it. Read from the rows. */
  isLost: boolean
  /** What operators say of the host. Read from the rows. */
  labels: HostLabels
  zone: string | null
  /** MiB promised to creates that the agent does not yet count in `info`. */
  promisedMib: number
}

/** `null`: an agent of the configuration that has never answered. The host of a joined one names it before it answers. */
export function agentIdOf({ info, hostId }: KnownAgent): string | null {
  return info?.agent_id ?? hostId
}

interface Watched extends KnownAgent {
  isGone: boolean
  looking: Promise<void>
  /** Ends the pause before the next poll. */
  endPause: () => void
}

async function close(agent: Watched): Promise<void> {
  agent.isGone = true
  agent.endPause()
  await agent.looking
  await agent.client.close()
}

/** The pause before the next poll. It ends early when a connection to the agent fails. */
async function pause(agent: Watched): Promise<void> {
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const ms = LOOK_MS * (1 + JITTER * (2 * Math.random() - 1))
  const timer = setTimeout(end, agent.isReachable ? ms : LOOK_AGAIN_MS)
  agent.endPause = end
  await over
  clearTimeout(timer)
}

/** A host that has joined speaks for itself only. */
function refuseOtherId({ hostId }: KnownAgent, info: AgentInfo): AgentInfo {
  if (hostId === null || info.agent_id === hostId) return info
  throw new Error(`the host ${hostId} says that it is ${info.agent_id}`)
}

/**
 * The configured agents, and those of hosts that have joined. Every control process polls each one every few seconds and keeps the answer in memory. It also
 * stores an agent's first answer, and every answer that changed, in the database.
 */
export class AgentDirectory {
  readonly clusterId: string
  onReachable: () => void = () => undefined
  /** @see AgentClient.onHeld */
  onHeld: AgentClient['onHeld'] = async () => false
  readonly #database: Database
  #kinds: readonly AgentHooks[] = []
  readonly #log: Logger
  #onKnown: (agent: KnownAgent, info: AgentInfo) => void = () => undefined
  #all: readonly Watched[] = []
  #isStarted = false

  constructor(agents: readonly AgentAddress[], clusterId: string, database: Database, log: Logger) {
    this.clusterId = clusterId
    this.#database = database
    this.#log = log
    for (const address of agents) this.add(address)
  }

  get all(): readonly KnownAgent[] {
    return this.#all
  }

  /** @param onKnown called at an agent's first answer, and when another agent answers at its address */
  start(kinds: readonly AgentHooks[], onKnown: (agent: KnownAgent, info: AgentInfo) => void): void {
    this.#kinds = kinds
    this.#onKnown = onKnown
    this.#isStarted = true
    for (const agent of this.#all) agent.looking = this.#look(agent)
  }

  /** Adds an agent, and polls it from now on if the directory has been started. */
  add(address: AgentAddress): KnownAgent {
    const agent: Watched = {
      client: new AgentClient(address, this.clusterId),
      hostId: address.host?.id ?? null,
      info: null,
      isReachable: false,
      isForeign: false,
      isCordoned: false,
      isLost: false,
      labels: {},
      zone: null,
      promisedMib: 0,
      isGone: false,
      looking: Promise.resolve(),
      endPause: () => undefined,
    }
    agent.client.onHeld = (id, requestId) => this.onHeld(id, requestId)
    this.#all = [...this.#all, agent]
    if (this.#isStarted) agent.looking = this.#look(agent)
    return agent
  }

  /** Forgets an agent and ends its connections. */
  async remove(agent: KnownAgent): Promise<void> {
    const removed = this.#all.find((each) => each === agent)
    this.#all = this.#all.filter((each) => each !== agent)
    if (removed !== undefined) await close(removed)
  }

  byId(agentId: string): KnownAgent | undefined {
    return this.all.find((agent) => agent.info?.agent_id === agentId)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((agent) => close(agent)))
  }

  async #look(agent: Watched): Promise<void> {
    agent.client.onGone = () => {
      if (!agent.isReachable) return
      this.#setReachable(agent, false)
      agent.endPause()
    }
    let reported = ''
    while (!agent.isGone) {
      reported = await this.#ask(agent, reported)
      if (!agent.isGone) await pause(agent)
    }
  }

  /** @returns the report that the database has now */
  async #ask(agent: KnownAgent, reported: string): Promise<string> {
    try {
      const info = await this.#introduce(agent.client, refuseOtherId(agent, await agent.client.info(randomUUID())))
      const report = JSON.stringify([info.agent_id, info.templates, info.accelerator, info.isolation, info.version])
      if (report !== reported) await this.#record(agent, info)
      const isNew = agent.info?.agent_id !== info.agent_id
      agent.info = info
      this.#setForeign(agent, isForeign(info, this.clusterId))
      this.#setReachable(agent, true)
      if (isNew) this.#onKnown(agent, info)
      return report
    } catch (error) {
      this.#setReachable(agent, false, error)
      return reported
    }
  }

  /** An agent obeys the first control that it meets. */
  async #introduce(client: AgentClient, info: AgentInfo): Promise<AgentInfo> {
    if (info.cluster_id !== null) return info
    await client.obey(this.clusterId, randomUUID())
    return { ...info, cluster_id: this.clusterId }
  }

  #setForeign(agent: KnownAgent, foreign: boolean): void {
    if (foreign && !agent.isForeign) {
      this.#log.error(
        { url: agent.client.url, agent: agent.info?.agent_id },
        'host belongs to another cluster: docs/recovery.md',
      )
    }
    agent.isForeign = foreign
  }

  #setReachable(agent: KnownAgent, isReachable: boolean, error?: unknown): void {
    if (agent.isReachable === isReachable) return
    agent.isReachable = isReachable
    const about = { url: agent.client.url, agent: agent.info?.agent_id, ...(error !== undefined && { err: error }) }
    if (isReachable) {
      agent.isLost = false
      this.#log.info(about, 'agent reachable')
      this.onReachable()
    } else this.#log.warn(about, 'agent not reachable')
  }

  async #record(agent: KnownAgent, info: AgentInfo): Promise<void> {
    await transaction(this.#database.pool, async (client) => {
      const hasJoined = agent.hostId !== null
      const [row] = await upsertAgent(client, info.agent_id, agent.client.url, JSON.stringify(info), hasJoined)
      if (row === undefined) throw new Error(`the host ${info.agent_id} has been removed`)
      agent.isCordoned = row.is_cordoned
      agent.labels = row.labels
      agent.zone = row.zone
      // A host of another cluster is configured here by mistake. The agent that belongs to this address is not gone, so
      // do not retire it.
      const retired = isForeign(info, this.clusterId) ? [] : await retireOthers(client, info.agent_id, agent.client.url)
      if (retired.length > 0)
        await failSandboxesOf(
          client,
          retired.map(({ id }) => id),
          0,
        )
      for (const { id } of retired) await leaveArtifacts(client, id)
      for (const { storeOffer } of this.#kinds) await storeOffer?.(client, info)
    })
  }
}
