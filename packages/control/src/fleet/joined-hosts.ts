import { isDeepStrictEqual } from 'node:util'
import type { EdgeHost } from '@offshoot/contract/edge-host'
import type { Peer } from '@offshoot/kit/mutual-tls'
import type pg from 'pg'
import type { ProcessLock } from '../platform/db/process-lock.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import type { KnownAgent } from './agent-directory.ts'
import type { Fleet } from './fleet.ts'
import type { FleetAuthority } from './fleet-authority.ts'
import { reportVersion } from './fleet-authority-statements.ts'
import { joinedHosts } from './host-statements.ts'
import { OwnIdentity } from './own-identity.ts'

interface Options {
  readonly pool: pg.Pool
  readonly seal: Seal
  readonly authority: FleetAuthority
  readonly fleet: Fleet
  readonly lock: Pick<ProcessLock, 'number'>
}

/** Milliseconds after which this process says again which version it uses, in case a restored database does not know. */
const REPORT_MS = 10_000
/** Seconds for which a report is kept. The lock of the process says whether it lives. */
const REPORT_SECONDS = 24 * 60 * 60

/**
 * The hosts that have joined, by their rows. Each control process reads the rows every second and adds and removes
 * agents. A removed host is asked nothing more.
 */
export class JoinedHosts {
  readonly #options: Options
  readonly #identity: OwnIdentity
  readonly #agents = new Map<string, { readonly host: EdgeHost; readonly agent: KnownAgent }>()
  readonly #listeners = new Set<() => void>()
  #forEdges: readonly EdgeHost[] = []
  #reported = { version: -1, number: -1, atMs: Number.NEGATIVE_INFINITY }
  #refreshing: Promise<unknown> = Promise.resolve()

  constructor(options: Options) {
    this.#options = options
    this.#identity = new OwnIdentity(options.authority)
  }

  /** As an edge needs them. */
  get forEdges(): readonly EdgeHost[] {
    return this.#forEdges
  }

  /** How to reach a host. `undefined`: this process does not know it. */
  peerOf(id: string): Peer | undefined {
    return this.#agents.get(id)?.agent.client.peer
  }

  /** @param listener called after a host has come, changed or gone, or is lost or heard again. @returns a function that ends that */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Reads the rows once. Renews this process's certificate when it is due. Several calls run one after the other. */
  refresh(): Promise<void> {
    const next = this.#refreshing.then(() => this.#refresh())
    this.#refreshing = next.catch(() => undefined)
    return next
  }

  async #refresh(): Promise<void> {
    const { pool, seal, fleet } = this.#options
    const rows = await joinedHosts(pool)
    if (rows.length > 0 || this.#identity.version !== null) await this.#identity.keep()
    await this.#report()
    const wanted = new Map(rows.map((row) => [row.id, row]))
    for (const [id, { host, agent }] of this.#agents) {
      if (wanted.get(id)?.url === host.url) continue
      this.#agents.delete(id)
      await fleet.removeHost(agent)
    }
    for (const { id, url, secret, edge_secret } of rows) {
      if (this.#agents.has(id)) continue
      const address = { url, secret: seal.open(secret), host: { id, identity: this.#identity.tls } }
      const host = { id, url, secret: seal.open(edge_secret) }
      this.#agents.set(id, { host, agent: fleet.addHost(address) })
    }
    this.#tell([...this.#agents.values()].map(({ host, agent }) => (agent.isLost ? { ...host, is_lost: true } : host)))
  }

  /** A process without a certificate holds nobody up. */
  async #report(): Promise<void> {
    const { pool, authority, lock } = this.#options
    const version = this.#identity.version ?? (await authority.version())
    const { number } = lock
    const { version: last, number: lastNumber, atMs } = this.#reported
    const isKnown = version === last && number === lastNumber && performance.now() < atMs + REPORT_MS
    if (version === null || isKnown) return
    await reportVersion(pool, 'control', String(number), version, REPORT_SECONDS)
    this.#reported = { version, number, atMs: performance.now() }
  }

  #tell(hosts: readonly EdgeHost[]): void {
    if (isDeepStrictEqual(hosts, this.#forEdges)) return
    this.#forEdges = hosts
    for (const listener of this.#listeners) listener()
  }
}
