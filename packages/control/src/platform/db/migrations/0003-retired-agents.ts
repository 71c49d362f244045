import { type Kysely, sql } from 'kysely'

/** An agent is retired when another agent answers at its address. Its disk is lost then, and its sandboxes with it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table agents add column retired_at timestamptz(3)').execute(db)
}
