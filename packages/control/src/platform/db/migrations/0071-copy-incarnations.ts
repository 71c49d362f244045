import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Changes when the database is restored from a backup, or a replica replaces it. The parts: the cluster, which a dump
  // leaves; the timeline of its log, which each recovery from an archive and each promotion increments; and the table,
  // which a dump makes anew. The checkpoint's timeline would lag behind a promotion.
  `create function database_incarnation() returns text language sql stable as $$
     select concat_ws('/', (select system_identifier from pg_control_system()),
       left(pg_walfile_name(pg_current_wal_lsn()), 8), 'sandbox_copies'::regclass::oid) $$`,
  // The incarnation in which the host was known to wait for the end of the copy. In a later one, the copy may have been
  // given up after the backup. Of copies that exist already, this is not known.
  `alter table sandbox_copies add column incarnation text not null default ''`,
  'alter table sandbox_copies alter incarnation set default database_incarnation()',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
