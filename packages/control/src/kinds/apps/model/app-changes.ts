import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import type { Logger } from 'pino'
import { clientConfig, type DatabaseAddress } from '../../../platform/db/database.ts'

/** Milliseconds before reconnecting. */
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000

/** Called with the id of a changed app; `null`: any app may have changed, because notifications may have been lost. */
type Listener = (appId: string | null) => void

/**
 * Listens to PostgreSQL's notifications about apps (triggers of migration 0014), which cover the changes of every
 * process. It uses a connection of its own and reconnects when that breaks.
 */
export class AppChanges {
  readonly #address: DatabaseAddress
  readonly #log: Logger
  readonly #listeners = new Set<Listener>()
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>
  #client: Client | null = null

  constructor(address: DatabaseAddress, log: Logger) {
    this.#address = address
    this.#log = log
    this.#running = this.#run()
  }

  /** @returns a function that stops the listening */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
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
        if (!signal.aborted) this.#log.warn({ err: error }, 'changes of apps are not heard of')
      }
      await delay(retryMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Resolves when the connection ends. */
  async #follow(): Promise<void> {
    const client = new Client(clientConfig(this.#address))
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('error', () => undefined)
    client.on('notification', ({ payload }) => this.#tell(payload ?? null))
    await client.connect()
    this.#client = client
    if (this.#stopped.signal.aborted) await client.end()
    else {
      await client.query('listen apps')
      this.#tell(null)
    }
    await ended
  }

  #tell(appId: string | null): void {
    for (const listener of this.#listeners) listener(appId)
  }
}
