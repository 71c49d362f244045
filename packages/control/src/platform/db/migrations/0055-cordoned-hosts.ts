import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Since then, placement puts nothing new on the host. Null: it may.
  'alter table agents add column cordoned_at timestamptz(3)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
