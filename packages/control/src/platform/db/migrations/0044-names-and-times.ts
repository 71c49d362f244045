import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // A label; several snapshots may have the same.
  'alter table snapshots add column name text',
  'alter table templates add column updated_at timestamptz(3) not null default now()',
  // Earlier templates have no record of their last change.
  'update templates set updated_at = created_at',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
