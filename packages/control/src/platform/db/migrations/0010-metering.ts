import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Objects that are billed by the second: a sandbox (its id), or a workspace's volume bytes beyond its plan (the
  // workspace's id). Meters outlive their objects, so they have no foreign keys. state and since: those of the latest
  // transition.
  `create table meters (
    id uuid primary key,
    kind text not null check (kind in ('sandbox', 'storage')),
    workspace_id uuid not null,
    template text,
    cpu integer not null,
    memory_mib integer not null,
    managed_by text,
    managed_id uuid,
    state text not null default 'ended',
    since timestamptz(3) not null default '-infinity',
    micro_usd_per_month bigint not null default 0
  )`,
  `create index meters_open_idx on meters (workspace_id) where state <> 'ended'`,
  // From each moment until the meter's next transition, the meter was in this state at this price. No two transitions
  // of a meter have the same moment.
  `create table meter_transitions (
    meter_id uuid not null references meters (id),
    at timestamptz(3) not null,
    state text not null check (state in ('running', 'paused', 'hibernated', 'storage', 'ended')),
    cpu integer not null,
    micro_usd_per_month bigint not null,
    primary key (meter_id, at)
  )`,
  // Append-only. One entry per closed interval and day (UTC). An entry with a higher revision corrects the earlier ones
  // by its difference, so the sum is what counts.
  `create table ledger (
    meter_id uuid not null,
    began_at timestamptz(3) not null,
    day date not null,
    revision integer not null,
    workspace_id uuid not null,
    state text not null,
    seconds bigint not null,
    cpu_seconds bigint not null,
    micro_usd bigint not null,
    posted_at timestamptz(3) not null default now(),
    primary key (meter_id, began_at, day, revision)
  )`,
  'create index ledger_workspace_idx on ledger (workspace_id, day)',
  // The ledger's sums by month (UTC), so that a create need not add them up.
  `create table usage_months (
    workspace_id uuid not null,
    month date not null,
    micro_usd bigint not null,
    cpu_seconds bigint not null,
    primary key (workspace_id, month)
  )`,
  // The notices already sent: each is sent once.
  `create table credit_notices (
    workspace_id uuid not null,
    month date not null,
    percent integer not null,
    created_at timestamptz(3) not null default now(),
    primary key (workspace_id, month, percent)
  )`,
  // One partition per day. Control creates them in advance and drops old ones.
  `create table events (
    workspace_id uuid not null,
    ts timestamptz(3) not null,
    sandbox_id uuid not null,
    agent_id text not null,
    type text not null,
    code text not null,
    message text not null,
    metadata jsonb not null,
    primary key (workspace_id, ts, sandbox_id)
  ) partition by range (ts)`,
  'create index events_sandbox_idx on events (workspace_id, sandbox_id, ts)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
