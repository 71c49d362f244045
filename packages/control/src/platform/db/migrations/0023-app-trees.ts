import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The installed dependencies of a build, stored as the disk of a template that no catalog shows.
  // - app_id: null means that the tree has no app and is to be removed.
  // - workspace_id: the template's workspace on its agent, also after the app is gone.
  // - key: the hash of everything that the tree depends on (kinds/apps/dependency-cache/tree-key.ts).
  // - creator: number of the control process that creates it.
  `create table app_trees (
    id uuid primary key,
    app_id uuid references apps (id) on delete set null,
    workspace_id uuid not null,
    agent_id text not null references agents (id),
    key text not null,
    status text not null check (status in ('making', 'ready')),
    creator integer not null,
    deletion_due_at timestamptz(3),
    created_at timestamptz(3) not null default now()
  )`,
  'create unique index app_trees_app_idx on app_trees (app_id) where app_id is not null',
  'create index app_trees_agent_idx on app_trees (agent_id)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
