import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Null in older entries, which are deleted after their retention.
  'alter table audit_log add column target_kind text',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
