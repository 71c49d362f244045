import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // `backup`: a snapshot for a database backup, which lists of snapshots do not show.
  'alter table snapshots drop constraint snapshots_origin_check',
  `alter table snapshots add constraint snapshots_origin_check check (origin in ('user', 'fork', 'backup'))`,
  `update snapshots set origin = 'backup' where id in (select id from database_backups)`,
  // `proof`: an internal sandbox in which a backup is verified. No tenant sees it.
  'alter table sandboxes drop constraint sandboxes_managed_by_check',
  `alter table sandboxes add constraint sandboxes_managed_by_check check (managed_by in ('app', 'database', 'proof'))`,
  // - taken_at: when the snapshot was complete, so everything in it is older.
  // - proof_due_at: when the next verification is due.
  // - proof_lease_until: until then one process verifies the backup.
  // - proof_tries: failed attempts to verify it, where the backup itself is not known to be at fault.
  `alter table database_backups
     add column taken_at timestamptz(3) not null default now(),
     add column verified text not null default 'pending' check (verified in ('pending', 'ok', 'failed')),
     add column verified_at timestamptz(3),
     add column verify_error text,
     add column proof_due_at timestamptz(3) not null default now(),
     add column proof_lease_until timestamptz(3),
     add column proof_tries integer not null default 0`,
  `create index database_backups_proof_idx on database_backups (proof_due_at) where verified = 'pending'`,
  // The first backup is due soon after the creation: no earlier point in time can be restored.
  `alter table databases alter column backup_due_at set default now() + interval '10 minutes'`,
  // Ids of verification sandboxes, kept longer than their rows. Agents' records about them become no events and cost
  // nothing.
  `create table backup_proofs (
    id uuid primary key,
    created_at timestamptz(3) not null default now()
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
