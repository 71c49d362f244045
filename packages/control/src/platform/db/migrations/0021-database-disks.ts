import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Requested size of a database's file system, in MiB.
  'alter table databases add column disk_mb integer not null default 8192',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
