import { type Kysely, sql } from 'kysely'

/** Adds an event for a change that control makes, in the transaction of the change. */
const APPEND = `create function append_event(
  workspace uuid, kind text, object uuid, refs text[], type text, code text, message text, metadata jsonb
) returns void language plpgsql as $$
declare
  at timestamptz(3) := clock_timestamp();
begin
  if workspace is null then return; end if;
  loop
    insert into events (workspace_id, ts, kind, object_id, refs, type, code, message, metadata)
    values (workspace, at, kind, object, refs, type, code, message, metadata) on conflict do nothing;
    exit when found;
    -- The object had another event within the same millisecond.
    at := at + interval '1 millisecond';
  end loop;
end $$`

const BUILDS = `create function event_of_build() returns trigger language plpgsql as $$
declare
  b template_builds := case when tg_op = 'DELETE' then old else new end;
  type text;
begin
  if tg_op = 'INSERT' then type := 'build.started';
  elsif tg_op = 'DELETE' then
    -- Its agent never accepted the build. The builds of a deleted workspace report nothing.
    if old.ended_at is not null or not exists (select from organization where id = old.workspace_id) then return null; end if;
    type := 'build.failed';
    b.error := 'waiting: the build could not be started';
  elsif new.status = 'done' then type := 'build.succeeded';
  elsif new.status = 'failed' then type := 'build.failed';
  else return null;
  end if;
  perform append_event(b.workspace_id, 'build', b.id, array[b.id::text, b.name], type,
    case type when 'build.failed' then 'error' else 'ok' end,
    case type when 'build.started' then 'build of template ' || b.name || ' started'
      when 'build.succeeded' then 'template ' || b.name || ' built' else 'build of template ' || b.name || ' failed' end,
    jsonb_build_object('template', b.name, 'error', b.error));
  return null;
end $$`

const DEPLOYS = `create function event_of_deploy() returns trigger language plpgsql as $$
declare
  app apps;
begin
  if tg_op = 'UPDATE' and old.status = new.status then return null; end if;
  select * into app from apps where id = new.app_id;
  perform append_event(app.workspace_id, 'deploy', new.id, array[new.id::text, app.id::text], 'deploy.' || new.status,
    case new.status when 'failed' then 'error' else 'ok' end, 'deploy of ' || app.name || ' is ' || new.status,
    jsonb_build_object('app_id', app.id, 'app', app.name, 'git_ref', new.git_ref, 'git_commit', new.git_commit,
      'error', new.error, 'pull_number', app.pull_number));
  return null;
end $$`

const DATABASES = `create function event_of_database() returns trigger language plpgsql as $$
declare
  d databases := case when tg_op = 'DELETE' then old else new end;
  type text;
begin
  if tg_op = 'INSERT' then type := 'database.created';
  elsif tg_op = 'DELETE' then
    if not exists (select from organization where id = old.workspace_id) then return null; end if;
    type := 'database.deleted';
  elsif new.status = 'ready' then type := 'database.ready';
  else return null;
  end if;
  perform append_event(d.workspace_id, 'database', d.id, array[d.id::text], type, 'ok', replace(type, '.', ' '),
    jsonb_build_object('label', d.label, 'size', d.size, 'parent_id', d.parent_id));
  return null;
end $$`

const BACKUPS = `create function event_of_backup() returns trigger language plpgsql as $$
declare
  workspace uuid;
  type text;
begin
  if tg_op = 'INSERT' then type := 'database.backup_created';
  elsif new.verified = 'ok' then type := 'database.backup_verified';
  elsif new.verified = 'failed' then type := 'database.backup_failed';
  else return null;
  end if;
  select workspace_id into workspace from databases where id = new.database_id;
  perform append_event(workspace, 'database', new.database_id, array[new.database_id::text, new.id::text], type,
    case type when 'database.backup_failed' then 'error' else 'ok' end,
    case type when 'database.backup_created' then 'backup of the database created'
      when 'database.backup_verified' then 'backup restored on trial' else 'backup could not be restored on trial' end,
    jsonb_build_object('backup_id', new.id, 'origin', new.origin, 'error', new.verify_error));
  return null;
end $$`

const STATEMENTS = [
  'alter table events rename column sandbox_id to object_id',
  'alter table events alter column agent_id drop not null',
  'create sequence events_seq as bigint',
  // refs: ids and names by which a caller finds the event, such as that of the app.
  // xid, seq: the order of arrival. A reader that reads only transactions below the oldest one that still runs misses
  // no event (docs/adr/0037-webhooks-and-workspace-events.md).
  `alter table events
     add column kind text not null default 'sandbox' check (kind in ('sandbox', 'build', 'deploy', 'database')),
     add column refs text[] not null default '{}',
     add column xid xid8 not null default pg_current_xact_id(),
     add column seq bigint not null default nextval('events_seq')`,
  'create index events_xid_idx on events (xid)',
  'create index events_arrival_idx on events (workspace_id, xid, seq)',
  APPEND,
  BUILDS,
  `create trigger event_of_build after insert or delete on template_builds for each row execute function event_of_build()`,
  `create trigger event_of_build_end after update of status on template_builds for each row
   when (old.status is distinct from new.status) execute function event_of_build()`,
  DEPLOYS,
  `create trigger event_of_deploy after insert or update of status on app_deployments for each row
   execute function event_of_deploy()`,
  DATABASES,
  `create trigger event_of_database after insert or delete on databases for each row execute function event_of_database()`,
  `create trigger event_of_database_status after update of status on databases for each row
   when (old.status is distinct from new.status) execute function event_of_database()`,
  BACKUPS,
  `create trigger event_of_backup after insert on database_backups for each row execute function event_of_backup()`,
  `create trigger event_of_backup_verified after update of verified on database_backups for each row
   when (old.verified is distinct from new.verified) execute function event_of_backup()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
