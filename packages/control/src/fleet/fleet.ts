import type { Logger } from 'pino'
import type { Database } from '../platform/db/database.ts'
import type { ProcessLock } from '../platform/db/process-lock.ts'
import type { AgentClient } from './agent-client.ts'
import { AgentDirectory, type KnownAgent } from './agent-directory.ts'
import { Follower } from './follower.ts'
import type { AgentHooks } from './agent-hooks.ts'

export interface FleetOptions {
  readonly agents: readonly { readonly url: string; readonly secret: string }[]
  readonly database: Database
  readonly lock: ProcessLock
  readonly log: Logger
}

/** The agents and, for each that has ever answered, the follower of its log. */
export class Fleet {
  readonly directory: AgentDirectory
  readonly #followers = new Map<AgentClient, { readonly agentId: string; readonly follower: Follower }>()

  readonly #options: FleetOptions

  constructor(options: FleetOptions) {
    this.#options = options
    this.directory = new AgentDirectory(options.agents, options.database, options.log)
  }

  /** Starts to talk to the agents. */
  start(kinds: readonly AgentHooks[]): void {
    const { database, lock, log } = this.#options
    this.directory.start(kinds, ({ client }, { agent_id: agentId }) => {
      const previous = this.#followers.get(client)
      if (previous?.agentId === agentId) return
      void previous?.follower.stop()
      this.#followers.set(client, { agentId, follower: new Follower({ agentId, client, database, lock, kinds, log }) })
    })
  }

  get agents(): readonly KnownAgent[] {
    return this.directory.all
  }

  byId(agentId: string): KnownAgent | undefined {
    return this.directory.byId(agentId)
  }

  /** Ids of those that answered when last asked. */
  get reachable(): string[] {
    return this.agents.flatMap(({ info, isReachable }) => (info !== null && isReachable ? [info.agent_id] : []))
  }

  /** @see Follower.reconcileSoon */
  reconcileSoon(agentId: string): void {
    for (const each of this.#followers.values()) if (each.agentId === agentId) each.follower.reconcileSoon()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#followers.values()].map(({ follower }) => follower.stop()))
    await this.directory.stop()
  }
}
