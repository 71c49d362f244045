import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Whose sandbox it was taken from: a database's or an app's is lent to nobody who may not reach that machine itself.
  'alter table snapshots add column managed_by text',
  `update snapshots set managed_by = s.managed_by from sandboxes s where s.id = snapshots.sandbox_id`,
  // Of a machine that is gone its forks tell.
  `update snapshots set managed_by = c.managed_by from sandboxes c
   where snapshots.managed_by is null and c.managed_by is not null and c.from_snapshot = snapshots.id::text`,
  `update snapshots set managed_by = 'database' where origin = 'backup'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
