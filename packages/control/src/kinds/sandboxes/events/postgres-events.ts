import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { Event } from '@offshoot/contract/event'
import { isUuid } from '@offshoot/contract/ids'
import { sql } from 'kysely'
import type { Database } from '../../../platform/db/database.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { storable } from '../../../platform/db/storable.ts'
import { dayOf, EventPartitions } from './event-partitions.ts'
import { appendEvents } from './event-statements.ts'
import { EVENT_DAYS, type EventFilter, type EventStore } from '../model/event-store.ts'

const DAY_MS = 24 * 3600 * 1000
/** Days for which partitions are created in advance. */
const DAYS_AHEAD = 2

type Row = Omit<Event, 'ts'> & { readonly ts: Date }

/**
 * Events in control's PostgreSQL. They are appended in the transaction that moves the cursor, so each is stored exactly
 * once.
 */
export class PostgresEvents implements EventStore {
  readonly #database: Database
  readonly #partitions: EventPartitions

  constructor(database: Database) {
    this.#database = database
    this.#partitions = new EventPartitions(database.pool)
  }

  async prepare(records: readonly AgentRecord[]): Promise<void> {
    await this.#partitions.ensure(records.filter(isKept).map(({ event }) => dayOf(Date.parse(event.ts))))
  }

  async append(on: Queryable, records: readonly AgentRecord[]): Promise<void> {
    const kept = records.filter(isKept)
    if (kept.length === 0) return
    await appendEvents(on, JSON.stringify(kept.map(rowOf), storable))
  }

  async list(filter: EventFilter): Promise<readonly Event[]> {
    const { workspaceId, types, sandboxId, from, to, after, limit } = filter
    const oldest = new Date(Date.now() - EVENT_DAYS * DAY_MS).toISOString()
    const conditions = [
      sql`workspace_id = ${workspaceId}`,
      sql`ts >= ${from !== undefined && from > oldest ? from : oldest}::timestamptz`,
      ...(to === undefined ? [] : [sql`ts < ${to}::timestamptz`]),
      ...(types === undefined ? [] : [sql`type = any(${types})`]),
      ...(sandboxId === undefined ? [] : [sql`sandbox_id = ${sandboxId}`]),
      ...(after === undefined ? [] : [sql`(ts, sandbox_id) < (${after.ts}::timestamptz, ${after.sandboxId}::uuid)`]),
    ]
    const { rows } = await sql<Row>`
      select ts, sandbox_id, agent_id, type, code, message, metadata from events
      where ${sql.join(conditions, sql` and `)} order by ts desc, sandbox_id desc limit ${limit}`.execute(
      this.#database.db,
    )
    return rows.map((row) => ({ ...row, ts: row.ts.toISOString() }))
  }

  async sweep(): Promise<void> {
    const now = Date.now()
    await this.#partitions.ensure(Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => dayOf(now + ahead * DAY_MS)))
    await this.#partitions.dropBefore(dayOf(now - EVENT_DAYS * DAY_MS))
  }
}

function rowOf({ workspace_id, event }: AgentRecord) {
  return { workspace_id, ...event, ts: new Date(event.ts).toISOString() }
}

/**
 * Skips events older than the retention, and those more than {@link DAYS_AHEAD} days in the future, whose clock must be
 * wrong.
 */
function isKept({ workspace_id, event }: AgentRecord): boolean {
  const ms = Date.parse(event.ts)
  const now = Date.now()
  const isInTime = ms >= now - EVENT_DAYS * DAY_MS && ms < now + DAYS_AHEAD * DAY_MS
  return isInTime && workspace_id !== null && isUuid(workspace_id) && isUuid(event.sandbox_id)
}
