import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The id is that of the sandbox in which the database runs. `secrets` is sealed: PostgreSQL must not see it.
  // deletion_due_at: when a database that is being created or deleted is to be removed, unless it has been completed.
  `create table databases (
    id uuid primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    label text,
    size text not null check (size in ('1g', '4g', '16g')),
    status text not null check (status in ('provisioning', 'ready', 'deleting')),
    secrets bytea not null,
    broker_token_sha256 bytea not null,
    idle_timeout_seconds integer not null,
    always_on boolean not null default false,
    parent_id uuid,
    deletion_due_at timestamptz(3),
    created_at timestamptz(3) not null default now()
  )`,
  'create index databases_newest_idx on databases (workspace_id, created_at desc, id desc)',
  'create index databases_due_idx on databases (deletion_due_at) where deletion_due_at is not null',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
