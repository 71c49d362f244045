import { statement } from '../../../platform/db/statement.ts'

/** @param events JSON: `[{workspace_id, ts, object_id, agent_id, refs, type, code, message, metadata}]` */
export const appendEvents = statement<never, [events: string]>(
  'append-events',
  `insert into events (workspace_id, ts, object_id, agent_id, refs, type, code, message, metadata)
   select * from jsonb_to_recordset($1) as e (workspace_id uuid, ts timestamptz(3), object_id uuid, agent_id text,
     refs text[], type text, code text, message text, metadata jsonb)
   on conflict do nothing`,
)

/** The days that have a partition, `YYYY-MM-DD`. */
export const eventPartitions = statement<{ day: string }, []>(
  'event-partitions',
  `select replace(substr(c.relname, 8), '_', '-') as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'events'::regclass`,
)

/** SQL of the oldest transaction that may still add events. All events of earlier ones are visible. */
export const OLDEST_RUNNING = 'pg_snapshot_xmin(pg_current_snapshot())'

/**
 * The workspaces with events of the transactions from `xid` to the oldest that still runs, and the latter.
 * @param xid `null`: none
 */
export const workspacesWithEvents = statement<{ xid: string; workspaces: string[] }, [xid: string | null]>(
  'workspaces-with-events',
  `select ${OLDEST_RUNNING}::text as xid, coalesce((select json_agg(distinct workspace_id) from events
     where xid >= $1::text::xid8 and xid < ${OLDEST_RUNNING}), '[]') as workspaces`,
)

/** The last transaction whose events are all visible. */
export const lastComplete = statement<{ xid: string }, []>(
  'last-complete-transaction',
  `select (${OLDEST_RUNNING}::text::bigint - 1)::text as xid`,
)

/** Whether an event may have this number of a transaction. */
export const isPastTransaction = statement<{ is_past: boolean }, [xid: string]>(
  'is-past-transaction',
  'select $1::text::xid8 < pg_snapshot_xmax(pg_current_snapshot()) as is_past',
)

/** Events from another cluster, after a logical restore, may have numbers of transactions that are yet to come. */
export const renumberRestored = statement<never, []>(
  'renumber-restored-events',
  `update events set xid = '3' where xid >= pg_snapshot_xmax(pg_current_snapshot())`,
)
