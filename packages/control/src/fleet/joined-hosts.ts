import { isDeepStrictEqual } from 'node:util'
import type { EdgeHost } from '@offshoot/contract/edge-host'
import type pg from 'pg'
import type { Seal } from '../platform/secrets/seal.ts'
import type { KnownAgent } from './agent-directory.ts'
import type { Fleet } from './fleet.ts'
import type { FleetAuthority } from './fleet-authority.ts'
import { joinedHosts } from './host-statements.ts'
import { OwnIdentity } from './own-identity.ts'

interface Options {
  readonly pool: pg.Pool
  readonly seal: Seal
  readonly authority: FleetAuthority
  readonly fleet: Fleet
}

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
  #refreshing: Promise<unknown> = Promise.resolve()

  constructor(options: Options) {
    this.#options = options
    this.#identity = new OwnIdentity(options.authority)
  }

  /** As an edge needs them. */
  get forEdges(): readonly EdgeHost[] {
    return this.#forEdges
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
    if (rows.length > 0) await this.#identity.keep()
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

  #tell(hosts: readonly EdgeHost[]): void {
    if (isDeepStrictEqual(hosts, this.#forEdges)) return
    this.#forEdges = hosts
    for (const listener of this.#listeners) listener()
  }
}
