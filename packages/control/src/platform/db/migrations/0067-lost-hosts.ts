import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Since then, no control process has heard the host for `lost_after_seconds`. Null: it is heard.
  'alter table agents add column lost_at timestamptz(3)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
