import { type Kysely, sql } from 'kysely'

/** An agent is retired when another one answers at its address: its disk was lost, and its sandboxes with it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table agents add column retired_at timestamptz(3)').execute(db)
}
