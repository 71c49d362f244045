import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Of a built template: its id on its agent, and that agent. Global templates have neither.
  'alter table templates add column id uuid, add column agent_id text references agents (id)',
  `create table template_builds (
    id uuid primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    agent_id text not null references agents (id),
    creator integer not null,
    name text not null,
    status text not null check (status in ('queued', 'running', 'baking', 'done', 'failed')),
    stage text not null,
    percent integer not null default 0,
    error text,
    size_mb integer not null,
    bytes bigint not null,
    created_at timestamptz(3) not null default now(),
    started_at timestamptz(3),
    ended_at timestamptz(3)
  )`,
  // Only one build per workspace and name may be open.
  'create unique index template_builds_name_idx on template_builds (workspace_id, name) where ended_at is null',
  'create index template_builds_newest_idx on template_builds (workspace_id, name, created_at desc, id desc)',
  'create index template_builds_open_idx on template_builds (agent_id) where ended_at is null',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
