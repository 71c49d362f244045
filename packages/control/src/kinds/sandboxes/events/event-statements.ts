import { statement } from '../../../platform/db/statement.ts'

/** @param events JSON: `[{workspace_id, ts, sandbox_id, agent_id, type, code, message, metadata}]` */
export const appendEvents = statement<never, [events: string]>(
  'append-events',
  `insert into events (workspace_id, ts, sandbox_id, agent_id, type, code, message, metadata)
   select * from jsonb_to_recordset($1) as e (workspace_id uuid, ts timestamptz(3), sandbox_id uuid, agent_id text, type text,
     code text, message text, metadata jsonb)
   on conflict do nothing`,
)

/** The days that have a partition, `YYYY-MM-DD`. */
export const eventPartitions = statement<{ day: string }, []>(
  'event-partitions',
  `select replace(substr(c.relname, 8), '_', '-') as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'events'::regclass`,
)
