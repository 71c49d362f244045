import type { AgentRecord } from '@offshoot/contract/agent-api'
import { type EventPosition, formatEventId } from '@offshoot/contract/event-list'
import { isStorable } from '@offshoot/contract/fields'
import { isUuid } from '@offshoot/contract/ids'
import type { EventObjectKind, WorkspaceEvent } from '@offshoot/contract/workspace-event'
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../platform/db/database.ts'
import type { Queryable } from '../../../platform/db/statement.ts'
import { storable } from '../../../platform/db/storable.ts'
import { EVENT_DAYS, type EventFilter, type EventStore, type ListPlace } from '../model/event-store.ts'
import { dayOf, EventPartitions } from './event-partitions.ts'
import { appendEvents, lastComplete, OLDEST_RUNNING, renumberRestored } from './event-statements.ts'

const DAY_MS = 24 * 3600 * 1000
/** Days by which the clock of an agent may be ahead. */
const MAX_AHEAD_DAYS = 2
/** Days for which partitions are created in advance, because triggers append events without preparing for them. */
const PREPARED_DAYS = 7
const LAST_SEQ = Number.MAX_SAFE_INTEGER

interface Row extends Pick<WorkspaceEvent, 'agent_id' | 'type' | 'code' | 'message' | 'metadata'> {
  readonly xid: string
  readonly seq: number
  readonly ts: Date
  readonly kind: EventObjectKind
  readonly object_id: string
}

/**
 * Events in control's PostgreSQL. Those of agents are appended in the transaction that moves the cursor, and the others
 * by triggers in the transaction of the change, so each is stored exactly once.
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

  async list(filter: EventFilter, after: ListPlace | undefined, limit: number): Promise<readonly WorkspaceEvent[]> {
    const place =
      after === undefined ? [] : [sql`(ts, object_id) < (${after.ts}::timestamptz, ${after.objectId}::uuid)`]
    return this.#read([...conditionsOf(filter), ...place], sql`ts desc, object_id desc`, limit)
  }

  async arrived(filter: EventFilter, after: EventPosition, limit: number): Promise<readonly WorkspaceEvent[]> {
    return this.#read([...conditionsOf(filter), ...isComplete(after)], sql`events.xid, seq`, limit)
  }

  async tail(filter: EventFilter, after: EventPosition, count: number): Promise<readonly WorkspaceEvent[]> {
    const conditions = [...conditionsOf(filter), ...isComplete(after)]
    return (await this.#read(conditions, sql`events.xid desc, seq desc`, count)).toReversed()
  }

  async end(): Promise<EventPosition> {
    const [last] = await lastComplete(this.#database.pool)
    return { xid: last?.xid ?? '0', seq: LAST_SEQ }
  }

  async sweep(): Promise<void> {
    const now = Date.now()
    await this.#partitions.ensure(Array.from({ length: PREPARED_DAYS + 1 }, (_, ahead) => dayOf(now + ahead * DAY_MS)))
    await this.#partitions.dropBefore(dayOf(now - EVENT_DAYS * DAY_MS))
    await renumberRestored(this.#database.pool)
  }

  async #read(
    conditions: readonly RawBuilder<unknown>[],
    order: RawBuilder<unknown>,
    limit: number,
  ): Promise<readonly WorkspaceEvent[]> {
    // "order by xid" would be the text of the output.
    const { rows } = await sql<Row>`
      select xid::text, seq, ts, kind, object_id, agent_id, type, code, message, metadata from events
      where ${sql.join(conditions, sql` and `)} order by ${order} limit ${limit}`.execute(this.#database.db)
    return rows.map(present)
  }
}

/** Events after a position whose transactions can have no further event before them. */
function isComplete({ xid, seq }: EventPosition): RawBuilder<unknown>[] {
  return [sql`(xid, seq) > (${xid}::text::xid8, ${seq}::bigint)`, sql.raw(`xid < ${OLDEST_RUNNING}`)]
}

function conditionsOf({ workspaceId, types, sandboxId, object, from, to }: EventFilter): RawBuilder<unknown>[] {
  const oldest = new Date(Date.now() - EVENT_DAYS * DAY_MS).toISOString()
  return [
    sql`workspace_id = ${workspaceId}`,
    sql`ts >= ${from !== undefined && from > oldest ? from : oldest}::timestamptz`,
    ...(to === undefined ? [] : [sql`ts < ${to}::timestamptz`]),
    ...(types === undefined || types.includes('*')
      ? []
      : [sql`(type = any(${types}) or split_part(type, '.', 1) || '.*' = any(${types}))`]),
    ...(sandboxId === undefined ? [] : [sql`object_id = ${sandboxId} and kind = 'sandbox'`]),
    ...(object === undefined ? [] : isStorable(object) ? [sql`${object} = any(refs)`] : [sql`false`]),
  ]
}

function present({ xid, seq, ts, kind, object_id: id, agent_id, type, code, message, metadata }: Row): WorkspaceEvent {
  return {
    id: formatEventId({ xid, seq }),
    ts: ts.toISOString(),
    type,
    code,
    message,
    object: { kind, id },
    sandbox_id: kind === 'sandbox' ? id : null,
    agent_id,
    metadata,
  }
}

function rowOf({ workspace_id, event: { sandbox_id: id, ...event } }: AgentRecord) {
  return { workspace_id, ...event, object_id: id, refs: [id], ts: new Date(event.ts).toISOString() }
}

/**
 * Skips events older than the retention, and those more than {@link MAX_AHEAD_DAYS} days in the future, whose clock must
 * be wrong.
 */
function isKept({ workspace_id, event }: AgentRecord): boolean {
  const ms = Date.parse(event.ts)
  const now = Date.now()
  const isInTime = ms >= now - EVENT_DAYS * DAY_MS && ms < now + MAX_AHEAD_DAYS * DAY_MS
  return isInTime && workspace_id !== null && isUuid(workspace_id) && isUuid(event.sandbox_id)
}
