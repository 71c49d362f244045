import type { Logger } from 'pino'
import type { Database } from '../platform/db/database.ts'
import type { ProcessLock } from '../platform/db/process-lock.ts'
import type { AgentAddress } from './agent-address.ts'
import type { AgentClient } from './agent-client.ts'
import { AgentDirectory, type KnownAgent } from './agent-directory.ts'
import { noteHeard } from './host-state-statements.ts'
import { endLease, silentLeases } from './lease-statements.ts'
import { SilentHosts } from './silent-hosts.ts'
import { Follower } from './follower.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { PlacementRules } from './placement-rules.ts'
import { RecordGroups } from './record-groups.ts'
import { SandboxChanges } from './sandbox-changes.ts'

export interface FleetOptions {
  readonly agents: readonly AgentAddress[]
  /** The id of the database. */
  readonly clusterId: string
  readonly database: Database
  readonly lock: ProcessLock
  /** Seconds after which a host that no control process hears is lost. */
  readonly lostAfterSeconds: number
  /** Whether databases on hosts that have joined need a lease. */
  readonly hasLeases: boolean
  readonly log: Logger
}

/** The part of `lostAfterSeconds` for which a lease lasts: a host that is lost has none any more, or only just. */
const LEASE_SHARE = 3 / 4

/** The agents and, for each agent that has ever answered, the follower of its log. */
export class Fleet {
  readonly directory: AgentDirectory
  readonly rules: PlacementRules
  /** Log records that this version could not read, counted since the process started. */
  skippedRecords = 0
  readonly #followers = new Map<AgentClient, { readonly agentId: string; readonly follower: Follower }>()
  readonly #options: FleetOptions
  readonly #changes: SandboxChanges
  readonly #startedAtMs = performance.now()
  readonly #silent = new SilentHosts()
  #refreshing: Promise<void> = Promise.resolve()

  constructor(options: FleetOptions) {
    this.#options = options
    this.#changes = new SandboxChanges(options.database.pool, options.log)
    this.rules = new PlacementRules(options.database.pool)
    this.directory = new AgentDirectory(options.agents, options.clusterId, options.database, options.log)
  }

  /** Starts to poll the agents. @param onReachable called when an agent answers after it did not */
  start(kinds: readonly AgentHooks[], onReachable: () => Promise<void>): void {
    const { clusterId, database, lock, log } = this.#options
    const changes = this.#changes
    const groups = new RecordGroups(database.pool, kinds)
    const onSkipped = (records: number) => (this.skippedRecords += records)
    this.directory.onReachable = () =>
      void onReachable().catch((error: unknown) =>
        log.warn({ err: error }, 'jobs of an agent failed: trying again later'),
      )
    this.directory.start(kinds, ({ client, hostId }, { agent_id: agentId }) => {
      const previous = this.#followers.get(client)
      if (previous?.agentId === agentId) return
      void previous?.follower.stop()
      const { leaseSeconds } = this
      const options = { agentId, hasJoined: hostId !== null, leaseSeconds, clusterId, client, database, lock }
      const follower = new Follower({ ...options, kinds, groups, changes, onSkipped, log })
      this.#followers.set(client, { agentId, follower })
    })
  }

  get agents(): readonly KnownAgent[] {
    return this.directory.all
  }

  byId(agentId: string): KnownAgent | undefined {
    return this.directory.byId(agentId)
  }

  /** Seconds of a lease; `null`: hosts need none. */
  get leaseSeconds(): number | null {
    return this.#options.hasLeases ? this.#options.lostAfterSeconds * LEASE_SHARE : null
  }

  /** Ids of the agents that answered the last poll. */
  get reachable(): string[] {
    return this.agents.flatMap(({ info, isReachable }) => (info !== null && isReachable ? [info.agent_id] : []))
  }

  /** Adds the agent of a host that has joined. */
  addHost(address: AgentAddress): KnownAgent {
    return this.directory.add(address)
  }

  /** Ends every connection to the agent of a host that has been removed. */
  async removeHost(agent: KnownAgent): Promise<void> {
    await this.#followers.get(agent.client)?.follower.stop()
    this.#followers.delete(agent.client)
    await this.directory.remove(agent)
  }

  /** @see Follower.reconcileSoon */
  reconcileSoon(agentId: string): void {
    for (const each of this.#followers.values()) if (each.agentId === agentId) each.follower.reconcileSoon()
  }

  /**
   * Notes which hosts answer, and which leases have ended. Reads from the rows which ones are cordoned or lost, their
   * labels and zones, and what workspaces require of them. Calls run one after the other, so an older answer never replaces a newer one.
   */
  refreshHosts(): Promise<void> {
    const refreshed = this.#readHosts(this.#refreshing)
    this.#refreshing = refreshed.catch(() => undefined)
    return refreshed
  }

  async #readHosts(previous: Promise<void>): Promise<void> {
    await previous
    const { database, lostAfterSeconds, log } = this.#options
    const mayLose = performance.now() - this.#startedAtMs > lostAfterSeconds * 1000
    const [noted] = await Promise.all([
      noteHeard(database.pool, this.reachable, lostAfterSeconds, mayLose),
      this.rules.refresh(),
    ])
    for (const { id, is_lost: isLost } of noted.filter((row) => row.is_new)) {
      if (isLost) log.error({ agent: id, seconds: lostAfterSeconds }, 'host lost: nothing new is placed there')
      else log.info({ agent: id }, 'host heard again')
    }
    if (this.leaseSeconds !== null) await this.#endLeases()
    const rows = new Map(noted.map((row) => [row.id, row]))
    for (const agent of this.agents) {
      // Its first answer brings the cordon and the labels with it, and may be stored just now.
      if (agent.info === null) continue
      const row = rows.get(agent.info.agent_id)
      agent.isCordoned = row?.is_cordoned === true
      agent.isLost = row?.is_lost === true && !agent.isReachable
      agent.labels = row?.labels ?? {}
      agent.zone = row?.zone ?? null
    }
  }

  async #endLeases(): Promise<void> {
    const { database, log } = this.#options
    const unreachable = this.agents.flatMap(({ hostId, isReachable }) =>
      hostId === null || isReachable ? [] : [hostId],
    )
    const silent = await silentLeases(database.pool, unreachable)
    for (const { agent_id: id, renewals, incarnation } of this.#silent.ended(silent)) {
      const [ended] = await endLease(database.pool, id, renewals, incarnation)
      if (ended !== undefined) log.error({ agent: id }, 'the lease of a lost host has ended: its databases are stopped')
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#followers.values()].map(({ follower }) => follower.stop()))
    await this.#changes.stop()
    await this.directory.stop()
  }
}
