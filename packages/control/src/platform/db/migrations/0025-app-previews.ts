import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // A preview is an app of its own for one pull request (pull_number) of the app parent_id. An app without a parent is
  // no preview. Several previews may have the same name.
  'alter table apps add column preview_deploys boolean not null default false',
  'alter table apps add column parent_id uuid references apps (id) on delete set null',
  'alter table apps add column pull_number integer',
  'drop index apps_name_idx',
  `create unique index apps_name_idx on apps (workspace_id, lower(name))
     where deletion_due_at is null and pull_number is null`,
  'create unique index apps_preview_idx on apps (parent_id, pull_number) where deletion_due_at is null',
  // The time of the provider's latest event for each pull request. Older events that arrive later are ignored.
  `create table app_pulls (
    app_id uuid not null references apps (id) on delete cascade,
    number integer not null,
    told_at timestamptz(3) not null,
    primary key (app_id, number)
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
