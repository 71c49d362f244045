import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // One row a workspace, made when it is first seen. exhausted_until: its free credit is spent until then.
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
  // Unlogged: after a crash every bucket is full again, which is what a pause of a few seconds makes of them anyway.
  `create unlogged table rate_buckets (
    workspace_id uuid primary key,
    tokens double precision not null,
    granted integer not null,
    refilled_at timestamptz not null
  )`,
  // What was created within the last hour, also when it is gone by now.
  `create table sandbox_creates (
    sandbox_id uuid primary key,
    workspace_id uuid not null references organization (id) on delete cascade,
    created_at timestamptz(3) not null default now()
  )`,
  'create index sandbox_creates_recent_idx on sandbox_creates (workspace_id, created_at)',
  // Counts in the calendar month (UTC) that it was granted in.
  `create table credit_grants (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references organization (id) on delete cascade,
    micro_usd bigint not null check (micro_usd > 0),
    reason text not null,
    created_at timestamptz(3) not null default now()
  )`,
  'create index credit_grants_workspace_idx on credit_grants (workspace_id, created_at)',
  // The app or database that owns it, for the bill.
  'alter table sandboxes add column managed_id uuid',
  // Since when it is paused because its workspace's credit is spent, and when the next try at pausing or resuming it is due.
  'alter table sandboxes add column credit_paused_at timestamptz(3)',
  'alter table sandboxes add column credit_due_at timestamptz(3)',
  'create index sandboxes_credit_idx on sandboxes (workspace_id) where credit_paused_at is not null',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
