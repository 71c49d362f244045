import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  `create trigger wake_recover_databases after update of ended_at on host_leases for each row
   when (new.ended_at is not null) execute function wake_job_of_change('recover-databases')`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
