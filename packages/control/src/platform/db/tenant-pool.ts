import { AsyncLocalStorage } from 'node:async_hooks'
import { callbackify } from 'node:util'
import { FairLimit } from '@offshoot/kit/fair-limit'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { FairQueue } from './fair-queue.ts'

/** Connections that the requests of one tenant hold at the same time. */
export const PER_TENANT = 8
/** Connections that no tenant's requests hold. They serve the agents' records and the jobs. */
const RESERVED = 4
/** Milliseconds for which a request waits until its tenant's other requests have released a connection. */
const PATIENCE_MS = 10_000

/** The tenant whose work runs. Admission sets it as soon as it knows the caller. */
export interface Tenancy {
  /** The id of a workspace; before it is known, that of a user, or the caller's address. `null`: no tenant, no limit. */
  tenant: string | null
}

const current = new AsyncLocalStorage<Tenancy>()

/** Runs `work`, and whatever it starts, for the tenant. */
export function runFor<T>(tenancy: Tenancy, work: () => T): T {
  return current.run(tenancy, work)
}

/** Says whose work runs from now on, in the work that {@link runFor} has begun. */
export function setTenant(tenant: string): void {
  const tenancy = current.getStore()
  if (tenancy !== undefined) tenancy.tenant = tenant
}

type Connected = (error: Error | undefined, client: PoolClient | undefined, done: (release?: unknown) => void) => void

/**
 * A pool that gives each tenant a share of its connections, so that a flood of one tenant's requests leaves connections
 * for the others. The flood's requests wait for one another.
 */
export class TenantPool extends Pool {
  readonly #turns: FairQueue
  readonly #held = new WeakMap<PoolClient, () => void>()

  constructor(config: PoolConfig & { readonly max: number }) {
    super(config)
    this.#turns = new FairQueue(new FairLimit(PER_TENANT, config.max - RESERVED), PATIENCE_MS)
    this.on('release', (_error, client) => {
      const release = this.#held.get(client)
      this.#held.delete(client)
      release?.()
    })
  }

  /** Requests that wait until their tenant's other requests have released a connection. */
  get waitingTurns(): number {
    return this.#turns.length
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<PoolClient> | void {
    const tenant = current.getStore()?.tenant ?? null
    if (tenant === null) return callback === undefined ? super.connect() : super.connect(callback)
    const connecting = () => this.#connectFor(tenant)
    if (callback === undefined) return connecting()
    callbackify(connecting)((error, client) => {
      if (error) callback(error, undefined, () => undefined)
      else callback(undefined, client, (failure) => client.release(failure as Error))
    })
  }

  async #connectFor(tenant: string): Promise<PoolClient> {
    const release = await this.#turns.wait(tenant)
    try {
      const client = await super.connect()
      this.#held.set(client, release)
      return client
    } catch (error) {
      release()
      throw error
    }
  }
}

/**
 * Runs work that holds a connection already. Its further connections do not wait for a turn: two requests that wait for
 * each other's connection would never end.
 */
export function runHoldingConnection<T>(work: () => T): T {
  return current.getStore() === undefined ? work() : current.run({ tenant: null }, work)
}
