import { randomUUID } from 'node:crypto'
import type { AgentInfo } from '@offshoot/contract/agent-api'
import type { Logger } from 'pino'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../platform/db/database.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AgentClient } from './agent-client.ts'
import { failSandboxesOf, retireOthers, upsertAgent } from './agent-statements.ts'
import type { AgentHooks } from './agent-hooks.ts'

/** Milliseconds between two polls of a reachable agent, and of an unreachable one. */
const LOOK_MS = 2_000
const LOOK_AGAIN_MS = 200

/** Whether the agent obeys another cluster, so that this control must not use it. */
export function isForeign(info: AgentInfo, clusterId: string): boolean {
  return typeof info.cluster_id === 'string' && info.cluster_id !== clusterId
}

/** This process's knowledge of one configured agent. */
export interface KnownAgent {
  readonly client: AgentClient
  /** From the last poll that was answered; `null` before the first. */
  info: AgentInfo | null
  /** Whether the last poll was answered and no connection has failed since. */
  isReachable: boolean
  /** According to the last answered poll the agent obeys another cluster. This control places nothing on it. */
  isForeign: boolean
  /** MiB promised to creates that the agent does not yet count in `info`. */
  promisedMib: number
}

/**
 * The configured agents. Every control process polls each one every few seconds and keeps the answer in memory. It also
 * stores an agent's first answer, and every answer that changed, in the database.
 */
export class AgentDirectory {
  readonly all: readonly KnownAgent[]
  readonly clusterId: string
  onReachable: () => void = () => undefined
  readonly #database: Database
  #kinds: readonly AgentHooks[] = []
  readonly #log: Logger
  readonly #stopped = new AbortController()
  #onKnown: (agent: KnownAgent, info: AgentInfo) => void = () => undefined
  #loops: Promise<void>[] = []

  constructor(
    agents: readonly { readonly url: string; readonly secret: string }[],
    clusterId: string,
    database: Database,
    log: Logger,
  ) {
    this.all = agents.map((agent) => ({
      client: new AgentClient(agent, clusterId),
      info: null,
      isReachable: false,
      isForeign: false,
      promisedMib: 0,
    }))
    this.clusterId = clusterId
    this.#database = database
    this.#log = log
  }

  /** @param onKnown called at an agent's first answer, and when another agent answers at its address */
  start(kinds: readonly AgentHooks[], onKnown: (agent: KnownAgent, info: AgentInfo) => void): void {
    this.#kinds = kinds
    this.#onKnown = onKnown
    this.#loops = this.all.map((agent) => this.#look(agent))
  }

  byId(agentId: string): KnownAgent | undefined {
    return this.all.find((agent) => agent.info?.agent_id === agentId)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#loops)
    await Promise.all(this.all.map((agent) => agent.client.close()))
  }

  async #look(agent: KnownAgent): Promise<void> {
    const { signal } = this.#stopped
    agent.client.onGone = () => this.#setReachable(agent, false)
    let lookAtMs = 0
    let reported = ''
    while (!signal.aborted) {
      if (!agent.isReachable || performance.now() >= lookAtMs) {
        reported = await this.#ask(agent, reported)
        lookAtMs = performance.now() + LOOK_MS
      }
      await delay(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** @returns the report that the database has now */
  async #ask(agent: KnownAgent, reported: string): Promise<string> {
    try {
      const info = await this.#introduce(agent.client, await agent.client.info(randomUUID()))
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
      this.#log.info(about, 'agent reachable')
      this.onReachable()
    } else this.#log.warn(about, 'agent not reachable')
  }

  async #record(agent: KnownAgent, info: AgentInfo): Promise<void> {
    await transaction(this.#database.pool, async (client) => {
      await upsertAgent(client, info.agent_id, agent.client.url, JSON.stringify(info))
      // A host of another cluster is configured here by mistake. The agent that belongs to this address is not gone, so
      // do not retire it.
      const retired = isForeign(info, this.clusterId) ? [] : await retireOthers(client, info.agent_id, agent.client.url)
      if (retired.length > 0)
        await failSandboxesOf(
          client,
          retired.map(({ id }) => id),
        )
      for (const { storeOffer } of this.#kinds) await storeOffer?.(client, info)
    })
  }
}
