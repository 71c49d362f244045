import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The workspace a user has chosen to act in; null until the first choice.
  `alter table "user" add column current_workspace_id uuid references organization (id) on delete set null`,
  // suspended_at: an operator has stopped its compute. deletion_due_at: its owner has deleted it; it is to be emptied, and from
  // then on the next try may be made.
  `alter table organization
     add column suspended_at timestamptz(3),
     add column deletion_due_at timestamptz(3)`,
  'create index organization_deletion_idx on organization (deletion_due_at) where deletion_due_at is not null',
  'create unique index "member_organizationId_userId_uidx" on member ("organizationId", "userId")',
  // Null: all of them.
  'alter table api_keys add column scopes text[]',
  'create index api_keys_creator_idx on api_keys (created_by)',
  // Beside the accounts library's own, which would keep the token as it is.
  `create table invitations (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references organization (id) on delete cascade,
    email text not null,
    role text not null check (role in ('admin', 'member')),
    token_hash bytea not null unique,
    invited_by uuid references "user" (id) on delete set null,
    created_at timestamptz(3) not null default now(),
    expires_at timestamptz(3) not null,
    unique (workspace_id, email)
  )`,
  'create index invitations_email_idx on invitations (email)',
  // Who did what; outlives the workspaces and users it names, so it refers to none.
  `create table audit_log (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid,
    actor_type text not null check (actor_type in ('user', 'key', 'operator', 'service')),
    actor_id text,
    action text not null,
    target text,
    ip text,
    request_id text,
    details jsonb not null default '{}',
    created_at timestamptz(3) not null default clock_timestamp()
  )`,
  'create index audit_log_newest_idx on audit_log (workspace_id, created_at desc, id desc)',
  'create index audit_log_age_idx on audit_log (created_at)',
  // Mails that have not left yet. Their texts hold tokens: they are encrypted.
  `create table mails (
    id uuid primary key default gen_random_uuid(),
    sealed bytea not null,
    due_at timestamptz(3) not null default now(),
    created_at timestamptz(3) not null default now()
  )`,
  'create index mails_due_idx on mails (due_at)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
