import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  'alter table audit_log drop constraint audit_log_actor_type_check',
  `alter table audit_log add constraint audit_log_actor_type_check
     check (actor_type in ('user', 'key', 'sandbox', 'operator', 'service')) not valid`,
  'alter table audit_log validate constraint audit_log_actor_type_check',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
