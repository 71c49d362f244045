import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // How much a workspace's volumes exceeded its plan, one row per ended day. Each row is reported to the payment
  // provider once.
  `create table overage_days (
    workspace_id uuid not null references organization (id) on delete cascade,
    day date not null,
    mib_hours bigint not null,
    reported_at timestamptz(3),
    primary key (workspace_id, day)
  )`,
  'create index overage_days_unreported_idx on overage_days (day) where reported_at is null',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
