import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseAddress } from '@offshoot/contract/database-address'
import { Client } from 'pg'
import type { Logger } from 'pino'
import { clientConfig } from './database.ts'

/** Milliseconds before reconnecting. */
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000
/** Milliseconds between two probes, without which a connection could be dead for hours unnoticed. */
const PROBE_EVERY_MS = 10_000

/**
 * `apps`: ids of apps (migration 0014). `changes`: objects of workspaces (migration 0053). `moves`: ids of sandboxes that
 * are on another host from now on (migration 0069).
 */
const CHANNELS = ['apps', 'changes', 'moves'] as const
type Channel = (typeof CHANNELS)[number]

/** `null`: notifications may have been lost, so anything may have changed. */
type Listener = (payload: string | null) => void

/**
 * Listens to the notifications of PostgreSQL, which cover the changes of every process. All channels share one
 * connection, which is none of the pool's. It reconnects when the connection breaks.
 */
export class Notifications {
  readonly #address: DatabaseAddress
  readonly #log: Logger
  readonly #listeners: Readonly<Record<Channel, Set<Listener>>> = {
    apps: new Set(),
    changes: new Set(),
    moves: new Set(),
  }
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>
  #client: Client | null = null

  constructor(address: DatabaseAddress, log: Logger) {
    this.#address = address
    this.#log = log
    this.#running = this.#run()
  }

  /** @returns a function that stops the listening */
  listen(channel: Channel, listener: Listener): () => void {
    this.#listeners[channel].add(listener)
    return () => this.#listeners[channel].delete(listener)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#client?.end().catch(() => undefined)
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    for (let retryMs = FIRST_RETRY_MS; !signal.aborted; retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)) {
      try {
        await this.#follow()
        retryMs = FIRST_RETRY_MS
      } catch (error) {
        if (!signal.aborted) this.#log.warn({ err: error }, 'notifications of the database are not heard')
      }
      await delay(retryMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Resolves when the connection ends. */
  async #follow(): Promise<void> {
    const client = new Client(clientConfig(this.#address))
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('error', () => undefined)
    client.on('notification', ({ channel, payload }) => this.#tell(channel as Channel, payload ?? null))
    const end = () => void client.end().catch(() => undefined)
    await client.connect()
    this.#client = client
    const probe = setInterval(() => void client.query('select 1').catch(end), PROBE_EVERY_MS)
    try {
      if (this.#stopped.signal.aborted) return
      await client.query(CHANNELS.map((channel) => `listen ${channel}`).join(';'))
      for (const channel of CHANNELS) this.#tell(channel, null)
      await ended
    } finally {
      clearInterval(probe)
      end()
    }
  }

  #tell(channel: Channel, payload: string | null): void {
    for (const listener of this.#listeners[channel]) listener(payload)
  }
}
