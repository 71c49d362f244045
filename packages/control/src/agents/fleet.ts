import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import type { ProcessLock } from '../db/process-lock.ts'
import { AgentDirectory, type KnownAgent } from './agent-directory.ts'
import { Follower } from './follower.ts'

export interface FleetOptions {
  readonly agents: readonly { readonly url: string; readonly secret: string }[]
  readonly database: Database
  readonly lock: ProcessLock
  readonly log: Logger
}

/** The agents and, for each that has ever answered, the follower of its log. */
export class Fleet {
  readonly directory: AgentDirectory
  readonly #followers = new Map<string, Follower>()

  constructor({ agents, database, lock, log }: FleetOptions) {
    this.directory = new AgentDirectory(agents, database, log, ({ client }, { agent_id: agentId }) => {
      if (!this.#followers.has(agentId)) {
        this.#followers.set(agentId, new Follower({ agentId, client, database, lock, log }))
      }
    })
    this.directory.start()
  }

  get agents(): readonly KnownAgent[] {
    return this.directory.all
  }

  byId(agentId: string): KnownAgent | undefined {
    return this.directory.byId(agentId)
  }

  /** @see Follower.reconcileSoon */
  reconcileSoon(agentId: string): void {
    this.#followers.get(agentId)?.reconcileSoon()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#followers.values()].map((follower) => follower.stop()))
    await this.directory.stop()
  }
}
