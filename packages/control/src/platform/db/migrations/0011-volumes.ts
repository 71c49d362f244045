import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // kind 'snapshot': a copy that cannot be attached. It has the name of the volume that it was taken from.
  `create table volumes (
    id uuid primary key,
    workspace_id uuid not null references organization (id),
    agent_id text not null references agents (id),
    creator integer not null,
    kind text not null check (kind in ('volume', 'snapshot')),
    name text not null,
    size_mb integer not null,
    status text not null check (status in ('creating', 'ready')),
    created_at timestamptz(3) not null default now()
  )`,
  `create unique index volumes_name_idx on volumes (workspace_id, name) where kind = 'volume'`,
  'create index volumes_newest_idx on volumes (workspace_id, kind, created_at desc, id desc)',
  'create index volumes_agent_idx on volumes (agent_id)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
