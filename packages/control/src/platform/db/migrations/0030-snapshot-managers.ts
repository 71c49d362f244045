import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The owner of the sandbox from which the snapshot was taken. A caller may use the snapshot of a database or an app
  // only if they may reach that sandbox itself.
  'alter table snapshots add column managed_by text',
  `update snapshots set managed_by = s.managed_by from sandboxes s where s.id = snapshots.sandbox_id`,
  // If the sandbox is gone, take the owner from its forks.
  `update snapshots set managed_by = c.managed_by from sandboxes c
   where snapshots.managed_by is null and c.managed_by is not null and c.from_snapshot = snapshots.id::text`,
  `update snapshots set managed_by = 'database' where origin = 'backup'`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
