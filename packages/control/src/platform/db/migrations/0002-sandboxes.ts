import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Only the SHA-256 of a key's secret is stored. The secret is random and long, so a slow hash would add nothing.
  `create table api_keys (
    prefix text primary key,
    hash bytea not null,
    workspace_id uuid not null references organization (id) on delete cascade,
    name text not null,
    created_by uuid references "user" (id) on delete set null,
    created_at timestamptz(3) not null default now(),
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
  )`,
  `create index api_keys_workspace_idx on api_keys (workspace_id)`,
  // "cursor": number of the last record of the agent's log that control has applied.
  `create table agents (
    id text primary key,
    url text not null,
    cursor bigint not null default 0,
    info jsonb not null,
    seen_at timestamptz(3) not null default now(),
    created_at timestamptz(3) not null default now()
  )`,
  // workspace_id is null for the templates shipped with the service.
  `create table templates (
    name text not null,
    workspace_id uuid references organization (id) on delete cascade,
    rootfs_path text not null,
    size_bytes bigint not null,
    cpu integer not null,
    memory_mb integer not null,
    meta jsonb not null,
    created_at timestamptz(3) not null default now(),
    unique nulls not distinct (name, workspace_id)
  )`,
  // Numbers control processes. Each process holds an advisory lock of its number for as long as it lives.
  `create sequence control_process_numbers as integer cycle`,
  `create table sandboxes (
    id uuid primary key,
    workspace_id uuid not null references organization (id),
    agent_id text not null references agents (id),
    creator integer not null,
    template text not null,
    status text not null check (status in ('creating', 'running', 'paused', 'hibernated', 'failed')),
    boot_ms integer,
    boot_mode text check (boot_mode in ('cold', 'snapshot', 'pool', 'fork')),
    guest_ip text,
    cpu integer not null,
    memory_mb integer not null,
    metadata jsonb not null default '{}',
    volumes jsonb not null default '[]',
    persistent boolean not null,
    ttl_seconds integer not null,
    idle_timeout_seconds integer not null,
    expires_at timestamptz(3),
    from_snapshot text,
    parent_id uuid,
    fork_tree_id uuid,
    managed_by text check (managed_by in ('app', 'database')),
    last_event_seq bigint not null default 0,
    created_at timestamptz(3) not null default now(),
    check (persistent = (expires_at is null))
  )`,
  `create index sandboxes_newest_idx on sandboxes (workspace_id, created_at desc, id desc)`,
  `create index sandboxes_agent_idx on sandboxes (agent_id)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
