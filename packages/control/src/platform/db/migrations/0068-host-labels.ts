import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  "alter table agents add column labels jsonb not null default '{}'",
  'alter table agents add column zone text',
  // Of a host that has joined, until its agent answers for the first time.
  "alter table joined_hosts add column labels jsonb not null default '{}'",
  'alter table joined_hosts add column zone text',
  // Hosts that lack one of them, or are in another zone, get nothing new of the workspace.
  "alter table workspace_accounts add column required_labels jsonb not null default '{}'",
  'alter table workspace_accounts add column required_zone text',
  `create index workspace_accounts_placement_idx on workspace_accounts (workspace_id)
   where required_labels <> '{}' or required_zone is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
