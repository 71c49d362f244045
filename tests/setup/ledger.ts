import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { options } from './database.ts'

const RETRY_MS = 50

/** Writers that commit entries one by one, and count the acknowledged ones. They reconnect after a lost connection. */
export class Ledger {
  readonly #url: string
  readonly #stop = new AbortController()
  readonly #acknowledged: number[]
  readonly #writing: Promise<unknown>

  private constructor(url: string, writers: number) {
    this.#url = url
    this.#acknowledged = Array.from({ length: writers }, () => 0)
    this.#writing = Promise.all(this.#acknowledged.map((_, writer) => this.#write(writer)))
  }

  static async open(url: string, writers: number): Promise<Ledger> {
    const client = new pg.Client(options(url))
    await client.connect()
    await client.query('create table ledger (writer int, entry int, primary key (writer, entry))')
    await client.query('create table balances (writer int primary key, entries int)')
    await client.query('insert into balances select n, 0 from generate_series(0, $1::int - 1) n', [writers])
    await client.end()
    return new Ledger(url, writers)
  }

  get acknowledged(): number {
    return this.#acknowledged.reduce((sum, each) => sum + each, 0)
  }

  /** Writers that lost an acknowledged entry, or that have a gap before their last entry. */
  async missing(client: pg.Client): Promise<string[]> {
    const acknowledged = [...this.#acknowledged]
    const { rows } = await client.query<{ writer: number; count: number; last: number; entries: number }>(
      `select b.writer, count(entry)::int, coalesce(max(entry), 0) as last, entries
       from balances b left join ledger l on l.writer = b.writer group by b.writer, entries`,
    )
    return rows.flatMap(({ writer, count, last, entries }) => {
      const known = acknowledged[writer] ?? 0
      if (count === last && entries === last && last >= known) return []
      return [`writer ${writer}: acknowledged ${known}, last ${last}, there ${count}, balance ${entries}`]
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#writing
  }

  async #write(writer: number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const client = new pg.Client(options(this.#url))
      client.on('error', () => undefined)
      try {
        await client.connect()
        const { rows } = await client.query<{ last: number }>(
          'select coalesce(max(entry), 0)::int as last from ledger where writer = $1',
          [writer],
        )
        // Continue after entries that were committed without an acknowledgement.
        let entry = rows[0]?.last ?? 0
        while (!this.#stop.signal.aborted) {
          entry += 1
          await client.query(
            `begin; insert into ledger values (${writer}, ${entry}); update balances set entries = ${entry} where writer = ${writer}; commit`,
          )
          this.#acknowledged[writer] = entry
        }
      } catch {
        await delay(RETRY_MS)
      } finally {
        await client.end().catch(() => undefined)
      }
    }
  }
}
