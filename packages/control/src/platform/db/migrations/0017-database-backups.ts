import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // A backup is a snapshot of the database's sandbox, plus the credentials of the database at that time, sealed.
  `create table database_backups (
    id uuid primary key references snapshots (id) on delete cascade,
    database_id uuid not null references databases (id) on delete cascade,
    origin text not null check (origin in ('request', 'daily')),
    secrets bytea not null
  )`,
  'create index database_backups_database_idx on database_backups (database_id)',
  `alter table databases add column backup_due_at timestamptz(3) not null default now() + interval '1 day'`,
  `create index databases_backup_due_idx on databases (backup_due_at) where status = 'ready'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
