import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SeededRandom } from '../../setup/seeded-random.ts'
import { until } from '../../setup/until.ts'
import { DatabaseClient } from './database-client.ts'
import type { Fleet } from './fleet.ts'
import { Host } from './host.ts'
import { ListHistory } from './list-history.ts'
import { purgeTaken, silentFaults, untilLeaseEnds, untilReturned } from './leases.ts'
import { endsWith, hostOfDatabase, returningDatabases } from './loss.ts'
import type { Fault, Member } from './member.ts'
import { Operator } from './operator.ts'
import { allSandboxes, type FleetClient, SandboxClient } from './sandbox-client.ts'
import { untilTrue } from './truth.ts'
import { watchForTwins } from './twins.ts'
import { VolumeClient } from './volume-client.ts'

/** OFFSHOOT_FLEET_MEMBERS: only members whose name begins so fail, e.g. `host` or `PostgreSQL`. */
const MEMBERS = process.env['OFFSHOOT_FLEET_MEMBERS'] ?? ''
/** Longest fault in milliseconds. A host that is cut off as long is lost. */
const LONGEST_FAULT_MS = 25_000
/** Milliseconds in which what is being created or deleted settles. */
const EMPTY_MS = 90_000
const SHOWN_LINES = 150
/** How often a fault of a host is that its machine is lost for good. */
const LOSS_PROBABILITY = 0.25
/** How often it lasts longer than the host's lease. */
const LEASE_PROBABILITY = 0.25
/** Milliseconds until nobody changes the rows any more that say what a lost host had. */
const LOSS_MS = 1_000
/** Milliseconds between two operations of a client, so that one which is refused leaves CPU time to the others. */
const PAUSE_MS = 50

export interface RoundsOptions {
  readonly fleet: Fleet
  readonly hasDatabase: boolean
  /** Hosts are lost for good, too, and others take their place. Or they return after their databases have left. */
  readonly losesHosts?: boolean
  /** Longest fault in milliseconds. */
  readonly longestMs?: number
  /** Milliseconds between two operations of a client. Default: 50 */
  readonly pauseMs?: number
  readonly log?: (line: string) => void
}

/** Rounds of one fault each, while clients work. */
export class Rounds {
  readonly random: SeededRandom
  readonly history = new ListHistory()
  readonly #options: RoundsOptions
  readonly #excused = new Set<string>()
  readonly #operator: Operator
  readonly #clients: readonly FleetClient[]
  readonly #stopped = new AbortController()
  readonly #watching: Promise<void>

  constructor(options: RoundsOptions) {
    this.#options = options
    const { fleet, hasDatabase } = options
    this.random = SeededRandom.fromEnvironment('OFFSHOOT_FLEET_SEED')
    // Each client chooses by itself, so that one which waits does not change the choices of the others.
    const context = () => ({ fleet, history: this.history, random: this.random.another(), excused: this.#excused })
    this.#operator = new Operator(context())
    this.#clients = [
      new SandboxClient(context()),
      new VolumeClient(context(), 'data'),
      this.#operator,
      ...(hasDatabase ? [new DatabaseClient(context())] : []),
    ]
    this.#watching = watchForTwins(fleet, (text) => this.history.flaw(text), this.#stopped.signal)
  }

  /** @throws with the seed, the fault and the last part of the history, if something is wrong */
  async play(round: number): Promise<string> {
    const { fleet, longestMs = LONGEST_FAULT_MS, log = () => undefined } = this.#options
    const random = this.random.another()
    const { member, fault } = await this.#chosenBy(random)
    const forMs = Math.round(longestMs * random.fraction() ** 2)
    const what = `round ${round}: ${member.name}, ${fault.name} for ${forMs} ms`
    this.history.note(`=== ${what}`)
    const beganAt = performance.now()
    this.#excused.clear()
    try {
      await this.#working(async () => {
        await delay(1_000 * random.fraction())
        if (fault.endsMachines === true && member instanceof Host) await this.#excuse(member)
        await fault.begin()
        await delay(forMs)
        if (fault.endsMachines === true && member instanceof Host) await this.#excuse(member)
        this.history.note('heal')
        this.#operator.isResting = true
        await fault.heal()
        await fleet.healthy()
        this.history.note('healthy')
      })
      // What an operator asked for during the fault may have been done only after that.
      await fleet.healthy()
      await untilTrue(fleet)
      await fleet.companions.find((companion) => companion === member)?.examine?.()
      for (const client of this.#clients) await client.examine()
      await untilTrue(fleet)
    } catch (error) {
      this.history.flaw((error as Error).message)
    }
    const flaws = [...this.history.flaws, ...fleet.writers.flaws]
    if (flaws.length > 0) {
      const shown = this.history.tail(SHOWN_LINES)
      throw new Error(`seed ${this.random.seed}, ${what}:\n${flaws.join('\n')}\n--- history\n${shown}`)
    }
    log(`${what} [${((performance.now() - beganAt) / 1000).toFixed()} s]`)
    return what
  }

  /** Deletes everything. @returns what is left */
  async end(): Promise<string[]> {
    const { fleet } = this.#options
    this.#stopped.abort()
    await this.#watching
    for (const client of this.#clients) await client.clear()
    // Those whose create had no answer.
    for (const { id } of await allSandboxes(fleet)) await fleet.ask('DELETE', `/v1/sandboxes/${id}`)
    for (const { id } of (await fleet.ask('GET', '/v1/snapshots?limit=1000')).body as { id: string }[])
      await fleet.ask('DELETE', `/v1/snapshots/${id}`)
    for (const { id } of (await fleet.ask('GET', '/v1/databases')).body as { id: string }[])
      await fleet.ask('DELETE', `/v1/databases/${id}`)
    for (const host of fleet.hosts) await purgeTaken(fleet, host)
    let left: string[] = []
    const isEmpty = async () =>
      (left = (await Promise.all(fleet.hosts.map((host) => host.leftovers()))).flat()).length === 0
    await until('nothing to be left', isEmpty, EMPTY_MS, 500).catch(() => undefined)
    return [...left, ...this.history.flaws]
  }

  /** Clients work until `fault` is over. */
  async #working(fault: () => Promise<void>): Promise<void> {
    const over = new AbortController()
    const [sandboxes] = this.#clients
    // Several at the same time, with the same sandboxes.
    const work = [...this.#clients, sandboxes].map(async (client) => {
      while (!over.signal.aborted) {
        await client?.step()
        await delay(this.#options.pauseMs ?? PAUSE_MS)
      }
    })
    try {
      await fault()
    } finally {
      over.abort()
      await Promise.all(work)
    }
  }

  async #chosenBy(random: SeededRandom): Promise<{ readonly member: Member; readonly fault: Fault }> {
    const { fleet, losesHosts = false } = this.#options
    const member = random.pick(fleet.members.filter(({ name }) => name.startsWith(MEMBERS)))
    const [kind, isOfDatabase, isLong] = [random.fraction(), random.fraction() < 0.5, random.fraction() < 0.5]
    if (!losesHosts || !(member instanceof Host) || kind > LOSS_PROBABILITY + LEASE_PROBABILITY)
      return { member, fault: random.pick(member.faults) }
    if (isOfDatabase) await this.#operator.moveBackup()
    const id = isOfDatabase ? await hostOfDatabase(fleet) : undefined
    const host = fleet.hosts.find((each) => each.id === id) ?? member
    if (kind < LOSS_PROBABILITY) return { member: host, fault: this.#lossOf(host) }
    return { member: host, fault: this.#beyondLease(host, random.pick(silentFaults(host)), isLong) }
  }

  #lossOf(host: Host): Fault {
    const { fleet } = this.#options
    return {
      name: 'lost for good',
      begin: async () => {
        await host.cutPower()
        await delay(LOSS_MS)
        const ended = await endsWith(fleet, host.id)
        for (const each of ended) this.#excused.add(each)
        this.history.note(`ends with ${host.name}: ${ended.join(' ')}`)
      },
      heal: () => fleet.replace(host),
    }
  }

  /**
   * The fault, for longer than the lease of the host. Databases that can come back on other hosts do so, while this one
   * still has them.
   * @param isLong it lasts until they have come back. Otherwise the host returns while they do
   */
  #beyondLease(host: Host, fault: Fault, isLong: boolean): Fault {
    const { fleet } = this.#options
    return {
      name: `${fault.name} longer than its lease`,
      begin: async () => {
        const databases = await returningDatabases(fleet, host.id)
        await fault.begin()
        await untilLeaseEnds(fleet, host)
        this.history.note(`lease has ended, come back: ${databases.join(' ')}`)
        if (!isLong) return
        this.#operator.isResting = true
        await untilReturned(fleet, host, databases)
      },
      heal: () => fault.heal(),
    }
  }

  /** Its VMs end, so its sandboxes may fail, except databases. */
  async #excuse(host: Host): Promise<void> {
    for (const id of await readdir(join(host.dataDir, 'agent/sandboxes')).catch(() => [])) this.#excused.add(id)
    const databases = await this.#options.fleet.rows.read<{ id: string }>('select id::text from databases')
    for (const { id } of databases) this.#excused.delete(id)
  }
}
