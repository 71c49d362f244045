import { randomUUID } from 'node:crypto'
import type { AgentInfo } from '@offshoot/contract/agent-api'
import type { Logger } from 'pino'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { transaction } from '../db/transaction.ts'
import { dropUnreportedTemplates, reportGlobalTemplates } from '../templates/template-statements.ts'
import { AgentClient } from './agent-client.ts'
import { failSandboxesOf, retireOthers, upsertAgent } from './agent-statements.ts'

/** Milliseconds between two looks at an agent that answers, and at one that does not. */
const LOOK_MS = 2_000
const LOOK_AGAIN_MS = 250

/** What this process knows of one configured agent. */
export interface KnownAgent {
  readonly client: AgentClient
  /** As of the last look that was answered; `null` before the first. */
  info: AgentInfo | null
  /** Whether the last look was answered. */
  isReachable: boolean
  /** MiB promised to creates that the agent has not yet counted in `info`. */
  promisedMib: number
}

/**
 * The agents of the configuration, each looked at every few seconds by every control process: what they have in memory,
 * what they offer. Each agent's first answer, and each that differs from the one before, goes to the database too.
 */
export class AgentDirectory {
  readonly all: readonly KnownAgent[]
  readonly #database: Database
  readonly #log: Logger
  readonly #stopped = new AbortController()
  readonly #onKnown: (agent: KnownAgent, info: AgentInfo) => void
  #loops: Promise<void>[] = []

  /** @param onKnown called at each agent's first answer and whenever another agent answers at its address */
  constructor(
    agents: readonly { readonly url: string; readonly secret: string }[],
    database: Database,
    log: Logger,
    onKnown: (agent: KnownAgent, info: AgentInfo) => void,
  ) {
    this.all = agents.map((agent) => ({
      client: new AgentClient(agent),
      info: null,
      isReachable: false,
      promisedMib: 0,
    }))
    this.#database = database
    this.#log = log
    this.#onKnown = onKnown
  }

  start(): void {
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
    let reported = ''
    while (!signal.aborted) {
      try {
        const info = await agent.client.info(randomUUID())
        const report = JSON.stringify([info.agent_id, info.templates, info.accelerator, info.isolation, info.version])
        if (report !== reported) await this.#record(agent, info)
        const isNew = agent.info?.agent_id !== info.agent_id
        agent.info = info
        if (!agent.isReachable) this.#log.info({ agent: info.agent_id, url: agent.client.url }, 'agent reachable')
        agent.isReachable = true
        reported = report
        if (isNew) this.#onKnown(agent, info)
      } catch (error) {
        if (agent.isReachable) this.#log.warn({ err: error, url: agent.client.url }, 'agent not reachable')
        agent.isReachable = false
      }
      await delay(agent.isReachable ? LOOK_MS : LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #record(agent: KnownAgent, info: AgentInfo): Promise<void> {
    const global = info.templates.filter((template) => template.is_global)
    await transaction(this.#database.pool, async (client) => {
      await upsertAgent(client, info.agent_id, agent.client.url, JSON.stringify(info))
      const retired = await retireOthers(client, info.agent_id, agent.client.url)
      if (retired.length > 0)
        await failSandboxesOf(
          client,
          retired.map(({ id }) => id),
        )
      await reportGlobalTemplates(client, JSON.stringify(global))
      await dropUnreportedTemplates(client)
    })
  }
}
