import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Connections that a user has started. Each state is valid for one callback.
  `create table git_connects (
    state text primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    created_at timestamptz(3) not null default now()
  )`,
  // An installation belongs to one workspace: the one whose user connected it.
  `create table git_installations (
    installation_id bigint primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    account_login text not null,
    account_type text not null,
    created_at timestamptz(3) not null default now()
  )`,
  'create index git_installations_workspace_idx on git_installations (workspace_id, created_at desc)',
  // The webhook deliveries already handled, so that a redelivery has no effect.
  `create table git_deliveries (
    id text primary key,
    created_at timestamptz(3) not null default now()
  )`,
  'create index git_deliveries_age_idx on git_deliveries (created_at)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
