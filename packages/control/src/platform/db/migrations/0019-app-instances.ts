import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Beside the sandbox that a deployment names: forks of it, which serve the same. id: of the sandbox. creator: number of the
  // control process that makes it. needed_at: when the edge last had work for as many as there are up to this one.
  // drain_until: until then what it had begun to answer may end, then it is deleted.
  `create table app_instances (
    id uuid primary key,
    app_id uuid not null references apps (id) on delete cascade,
    deployment_id uuid not null references app_deployments (id) on delete cascade,
    creator integer not null,
    status text not null check (status in ('starting', 'serving', 'draining')),
    needed_at timestamptz not null default now(),
    drain_until timestamptz,
    created_at timestamptz(3) not null default now()
  )`,
  'create index app_instances_app_idx on app_instances (app_id)',
  'create index app_instances_deployment_idx on app_instances (deployment_id)',
  // What serves is told to edges; that it is still needed is not.
  `create trigger app_instances_changed after insert or delete or update of status on app_instances
     for each row execute function tell_of_app()`,
  'alter table app_deployments add column is_sticky boolean not null default false',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
