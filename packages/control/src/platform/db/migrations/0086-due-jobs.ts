import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The engine's own index begins with the priority, so the search for due jobs would read every later one, too.
  'create index offshoot_due_jobs_idx on graphile_worker._private_jobs (run_at) where is_available',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
