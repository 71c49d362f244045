import type { Logger } from 'pino'
import type { EventStore } from '../analytics/event-store.ts'
import type { Database } from '../db/database.ts'
import type { ProcessLock } from '../db/process-lock.ts'
import type { AgentClient } from './agent-client.ts'
import { AgentDirectory, type KnownAgent } from './agent-directory.ts'
import { Follower } from './follower.ts'

export interface FleetOptions {
  readonly agents: readonly { readonly url: string; readonly secret: string }[]
  /** Of the database. */
  readonly clusterId: string
  readonly database: Database
  readonly lock: ProcessLock
  readonly events: EventStore
  readonly log: Logger
}

/** The agents and, for each that has ever answered, the follower of its log. */
export class Fleet {
  readonly directory: AgentDirectory
  /** Records of agents' logs that this version cannot read, since this process began. */
  skippedRecords = 0
  readonly #followers = new Map<AgentClient, { readonly agentId: string; readonly follower: Follower }>()

  constructor({ agents, clusterId, database, lock, events, log }: FleetOptions) {
    const onSkipped = (records: number) => (this.skippedRecords += records)
    this.directory = new AgentDirectory(agents, clusterId, database, log, ({ client }, { agent_id: agentId }) => {
      const previous = this.#followers.get(client)
      if (previous?.agentId === agentId) return
      void previous?.follower.stop()
      this.#followers.set(client, {
        agentId,
        follower: new Follower({ agentId, clusterId, client, database, lock, events, onSkipped, log }),
      })
    })
    this.directory.start()
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
