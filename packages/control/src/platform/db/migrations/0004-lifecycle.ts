import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Null: deletion has not been requested. Otherwise the sandbox is to be deleted, and the next attempt is due at this
  // time.
  'alter table sandboxes add column deletion_due_at timestamptz(3)',
  // Null: the agent has applied the row's persistence and idle timeout. Otherwise the agent's values may have differed
  // since this time.
  'alter table sandboxes add column lifecycle_unsettled_at timestamptz(3)',
  'create index sandboxes_expiry_idx on sandboxes (expires_at) where deletion_due_at is null',
  'create index sandboxes_deletion_idx on sandboxes (deletion_due_at) where deletion_due_at is not null',
  'create index sandboxes_unsettled_idx on sandboxes (agent_id) where lifecycle_unsettled_at is not null',
  'create index sandboxes_snapshot_idx on sandboxes (from_snapshot) where from_snapshot is not null',
  'create index sandboxes_tree_idx on sandboxes (fork_tree_id) where fork_tree_id is not null',
  `create table snapshots (
    id uuid primary key,
    workspace_id uuid not null references organization (id),
    agent_id text not null references agents (id),
    sandbox_id uuid not null,
    creator integer not null,
    template text not null,
    cpu integer not null,
    memory_mb integer not null,
    size_bytes bigint,
    origin text not null check (origin in ('user', 'fork')),
    status text not null check (status in ('creating', 'ready')),
    deletion_due_at timestamptz(3),
    created_at timestamptz(3) not null default now(),
    check ((status = 'ready') = (size_bytes is not null))
  )`,
  'create index snapshots_newest_idx on snapshots (workspace_id, created_at desc, id desc)',
  'create index snapshots_agent_idx on snapshots (agent_id)',
  `create index snapshots_forks_idx on snapshots (created_at) where origin = 'fork'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
