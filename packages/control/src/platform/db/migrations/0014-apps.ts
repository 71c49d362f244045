import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // env: names and values as JSON, encrypted. host: the part of the app's address before the suffix; the first app to
  // claim it keeps it.
  `create table apps (
    id uuid primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    name text not null,
    host text unique,
    git_url text not null,
    git_branch text not null,
    framework text,
    runtime text,
    install_command text,
    build_command text,
    start_command text,
    root_directory text,
    env bytea not null,
    port integer not null,
    max_instances integer not null,
    auto_deploy boolean not null,
    idle_timeout_seconds integer not null,
    active_deployment_id uuid,
    deletion_due_at timestamptz,
    created_at timestamptz(3) not null default now(),
    updated_at timestamptz(3) not null default now()
  )`,
  'create unique index apps_name_idx on apps (workspace_id, lower(name)) where deletion_due_at is null',
  'create index apps_newest_idx on apps (workspace_id, created_at desc, id desc)',
  'create index apps_deletion_idx on apps (deletion_due_at) where deletion_due_at is not null',
  // - number: the order of the deployments.
  // - creator: number of the control process that works on the deployment.
  // - git_commit: set from the start if the deployment was requested for a known commit.
  // - sandbox_id: no foreign key, because the agents' records decide when a sandbox row goes.
  // - origin_id: the deployment whose build runs in this sandbox; the deployment's own id, except for a rollback.
  // - drain_until: requests in progress may finish until then; afterwards control hibernates the sandbox.
  `create table app_deployments (
    id uuid primary key,
    number bigint generated always as identity,
    app_id uuid not null references apps (id) on delete cascade,
    status text not null check (status in ('queued', 'building', 'deploying', 'live', 'failed', 'superseded')),
    git_ref text not null,
    git_commit text,
    origin_id uuid not null,
    sandbox_id uuid,
    port integer not null,
    error text,
    creator integer not null default 0,
    attempts integer not null default 0,
    is_cancelled boolean not null default false,
    was_live boolean not null default false,
    drain_until timestamptz,
    created_at timestamptz(3) not null default now(),
    started_at timestamptz(3),
    finished_at timestamptz(3)
  )`,
  'create index app_deployments_newest_idx on app_deployments (app_id, number desc)',
  `create unique index app_deployments_queued_idx on app_deployments (app_id) where status = 'queued'`,
  `create unique index app_deployments_under_way_idx on app_deployments (app_id) where status in ('building', 'deploying')`,
  `create index app_deployments_pending_idx on app_deployments (number) where status in ('queued', 'building', 'deploying')`,
  'create index app_deployments_draining_idx on app_deployments (drain_until) where drain_until is not null',
  'create index app_deployments_sandbox_idx on app_deployments (sandbox_id) where sandbox_id is not null',
  `create table app_build_logs (
    deployment_id uuid not null references app_deployments (id) on delete cascade,
    number bigint generated always as identity,
    text text not null,
    primary key (deployment_id, number)
  )`,
  // Notifies listeners of the id of a changed app. The listeners read the app's state themselves.
  `create function tell_of_app() returns trigger language plpgsql as $$
   begin
     if tg_table_name = 'apps' then perform pg_notify('apps', coalesce(new.id, old.id)::text);
     else perform pg_notify('apps', coalesce(new.app_id, old.app_id)::text);
     end if;
     return null;
   end $$`,
  'create trigger apps_changed after insert or update or delete on apps for each row execute function tell_of_app()',
  `create trigger app_deployments_changed after insert or update or delete on app_deployments
     for each row execute function tell_of_app()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
