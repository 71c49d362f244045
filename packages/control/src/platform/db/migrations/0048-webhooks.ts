import { type Kysely, sql } from 'kysely'

/**
 * Makes the deliveries of new events, with a job for each webhook, in the transaction that adds the events. It locks no
 * row that another such transaction needs. Each transaction adds jobs of its own, which end at once if another process
 * is delivering for the webhook.
 */
const DELIVER = `create function deliver_events() returns trigger language plpgsql as $$
declare
  added integer;
begin
  with made as (
    insert into webhook_deliveries (webhook_id, type, payload, due_at, expires_at)
    select w.id, e.type, jsonb_build_object('type', e.type, 'timestamp', t.text, 'data', jsonb_build_object(
      'id', e.xid || '-' || e.seq, 'ts', t.text, 'type', e.type, 'code', e.code, 'message', e.message,
      'object', jsonb_build_object('kind', e.kind, 'id', e.object_id),
      'sandbox_id', case when e.kind = 'sandbox' then e.object_id end, 'agent_id', e.agent_id, 'metadata', e.metadata)),
      now(), now() + interval '1 day'
    from fresh e join webhooks w on w.workspace_id = e.workspace_id and w.enabled
    cross join lateral (select to_char(e.ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as text) t
    where ('*' = any(w.events) or e.type = any(w.events) or split_part(e.type, '.', 1) || '.*' = any(w.events))
      and (w.objects = '{}' or w.objects && e.refs)
    order by e.seq
    returning webhook_id
  )
  select count(graphile_worker.add_job('deliver-webhook', json_build_object('id', webhook_id),
    job_key := 'deliver-webhook:' || webhook_id || ':' || pg_current_xact_id()))
  into added from (select distinct webhook_id from made) woken;
  return null;
end $$`

const STATEMENTS = [
  // holder, creator, held_until: the process that delivers for the webhook.
  `create table webhooks (
    id uuid primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    url text not null,
    events text[] not null,
    objects text[] not null default '{}',
    description text,
    enabled boolean not null default true,
    disabled_reason text check (disabled_reason in ('user', 'gone', 'failing', 'backlog')),
    disabled_at timestamptz(3),
    secret bytea not null,
    previous_secret bytea,
    previous_until timestamptz(3),
    failures integer not null default 0,
    failing_since timestamptz(3),
    quiet_until timestamptz(3),
    holder uuid,
    creator integer not null default 0,
    held_until timestamptz(3),
    created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now(),
    check (enabled = (disabled_reason is null))
  )`,
  'create index webhooks_newest_idx on webhooks (workspace_id, created_at desc, id desc)',
  // tries: attempts since the delivery was last begun. log: the last attempts.
  `create table webhook_deliveries (
    id uuid primary key default gen_random_uuid(),
    webhook_id uuid not null references webhooks (id) on delete cascade,
    type text not null,
    payload jsonb not null,
    status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
    due_at timestamptz(3),
    expires_at timestamptz(3) not null,
    attempts integer not null default 0,
    tries integer not null default 0,
    log jsonb not null default '[]',
    response_status integer,
    duration_ms integer,
    error text,
    created_at timestamptz(3) not null default clock_timestamp(),
    finished_at timestamptz(3),
    check ((status = 'pending') = (due_at is not null))
  )`,
  'create index webhook_deliveries_newest_idx on webhook_deliveries (webhook_id, created_at desc, id desc)',
  `create index webhook_deliveries_due_idx on webhook_deliveries (webhook_id, due_at) where due_at is not null`,
  `create index webhook_deliveries_finished_idx on webhook_deliveries (finished_at) where finished_at is not null`,
  DELIVER,
  `create trigger deliver_events after insert on events referencing new table as fresh
   for each statement execute function deliver_events()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
