import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // One row per workspace, inserted on its first use. exhausted_until: the workspace has spent its free credit until
  // then.
  `create table workspace_accounts (
    workspace_id uuid primary key references organization (id) on delete cascade,
    plan text not null,
    plan_source text not null check (plan_source in ('default', 'operator', 'subscription')),
    rate_burst integer check (rate_burst > 0),
    rate_per_second integer check (rate_per_second > 0),
    exhausted_until timestamptz(3),
    customer_id text unique,
    subscription_id text unique,
    subscription_status text,
    synced_at timestamptz(3),
    created_at timestamptz(3) not null default now()
  )`,
  `create index workspace_accounts_exhausted_idx on workspace_accounts (exhausted_until)
   where exhausted_until is not null`,
  // Unlogged: a crash makes every bucket full again, and a bucket would refill during the restart anyway.
  `create unlogged table rate_buckets (
    workspace_id uuid primary key,
    tokens double precision not null,
    granted integer not null,
    refilled_at timestamptz not null
  )`,
  // The sandboxes created within the last hour, also those that no longer exist.
  `create table sandbox_creates (
    sandbox_id uuid primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    created_at timestamptz(3) not null default now()
  )`,
  'create index sandbox_creates_recent_idx on sandbox_creates (workspace_id, created_at)',
  // A grant counts in the calendar month (UTC) in which it was granted.
  `create table credit_grants (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references organization (id) on delete cascade,
    micro_usd bigint not null check (micro_usd > 0),
    reason text not null,
    created_at timestamptz(3) not null default now()
  )`,
  'create index credit_grants_workspace_idx on credit_grants (workspace_id, created_at)',
  // The app or database that owns the sandbox, for billing.
  'alter table sandboxes add column managed_id uuid',
  // credit_paused_at: when control paused the sandbox because its workspace has spent its credit. credit_due_at: when
  // the next attempt to pause or resume it is due.
  'alter table sandboxes add column credit_paused_at timestamptz(3)',
  'alter table sandboxes add column credit_due_at timestamptz(3)',
  'create index sandboxes_credit_idx on sandboxes (workspace_id) where credit_paused_at is not null',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
