import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Further instances of a deployment: forks of its sandbox that serve the same app.
  // - id: the fork's sandbox.
  // - creator: number of the control process that creates it.
  // - needed_at: when the load last needed as many instances as there are up to this one.
  // - drain_until: requests in progress may finish until then; afterwards control deletes the instance.
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
  // Edges are notified when the serving instances change, but not when needed_at moves.
  `create trigger app_instances_changed after insert or delete or update of status on app_instances
     for each row execute function tell_of_app()`,
  'alter table app_deployments add column is_sticky boolean not null default false',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
