import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The workspace that a user has selected; null until the first selection.
  `alter table "user" add column current_workspace_id uuid references organization (id) on delete set null`,
  // suspended_at: an operator has stopped the workspace's compute. deletion_due_at: the owner has deleted the
  // workspace; control removes its objects, and the next attempt is due at this time.
  `alter table organization
     add column suspended_at timestamptz(3),
     add column deletion_due_at timestamptz(3)`,
  'create index organization_deletion_idx on organization (deletion_due_at) where deletion_due_at is not null',
  'create unique index "member_organizationId_userId_uidx" on member ("organizationId", "userId")',
  // Null: all scopes.
  'alter table api_keys add column scopes text[]',
  'create index api_keys_creator_idx on api_keys (created_by)',
  // Replaces the accounts library's own table, which would store the token in plain text.
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
  // The audit log outlives the workspaces and users that it names, so it has no foreign keys.
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
  // The queue of outgoing mails. Their texts contain tokens, so they are encrypted.
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
