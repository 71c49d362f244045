import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // When control was told of a file, by the clock of PostgreSQL. That of the host, which said when it took the file, may be wrong.
  'alter table stored_segments add column recorded_at timestamptz(3) not null default now()',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
