import pg from 'pg'
import type { DatabaseAddress } from './postgres-server.ts'

const ANSWER_MS = 20_000

/** Reads rows of control's database on a connection of its own, which it makes again after a failure. */
export class ControlRows {
  readonly #config: pg.ClientConfig
  #client: Promise<pg.Client> | undefined

  constructor(address: DatabaseAddress) {
    this.#config = { ...address, connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS }
  }

  async read<T extends object>(text: string, ...values: readonly unknown[]): Promise<T[]> {
    this.#client ??= this.#connect()
    try {
      return (await (await this.#client).query<T>(text, [...values])).rows
    } catch (error) {
      await this.end()
      throw error
    }
  }

  async end(): Promise<void> {
    const client = await this.#client?.catch(() => undefined)
    this.#client = undefined
    await client?.end().catch(() => undefined)
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client(this.#config)
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
}
