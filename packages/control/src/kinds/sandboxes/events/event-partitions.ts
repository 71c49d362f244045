import type pg from 'pg'
import { eventPartitions } from './event-statements.ts'

const DAY_MS = 24 * 3600 * 1000
/** PostgreSQL's error codes if another process has just created the partition. */
const ALREADY_THERE = new Set(['42P07', '23505'])

/** One partition of `events` per day (UTC). An old day is dropped as a whole, so no rows need to be deleted. */
export class EventPartitions {
  readonly #pool: pg.Pool
  readonly #known = new Set<string>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** @param days `YYYY-MM-DD` */
  async ensure(days: Iterable<string>): Promise<void> {
    for (const day of new Set(days)) if (!this.#known.has(day)) await this.#make(day)
  }

  /** Drops all partitions of days before this one. */
  async dropBefore(day: string): Promise<void> {
    for (const { day: each } of await eventPartitions(this.#pool)) {
      if (each >= day) continue
      await this.#pool.query(`drop table if exists ${tableOf(each)}`)
      this.#known.delete(each)
    }
  }

  async #make(day: string): Promise<void> {
    const next = dayOf(Date.parse(day) + DAY_MS)
    const bounds = `from ('${day}T00:00:00Z') to ('${next}T00:00:00Z')`
    await this.#pool
      .query(`create table if not exists ${tableOf(day)} partition of events for values ${bounds}`)
      .catch((error: { code?: string }) => {
        if (!ALREADY_THERE.has(error.code ?? '')) throw error
      })
    this.#known.add(day)
  }
}

/** The day (UTC) of a time, `YYYY-MM-DD`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Days come from {@link dayOf} or the catalog, so the table name contains no caller's input. */
function tableOf(day: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new Error(`not a day: ${day}`)
  return `events_${day.replaceAll('-', '_')}`
}
