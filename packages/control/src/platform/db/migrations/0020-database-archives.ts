import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // `backup`: a database's, which is not shown among the snapshots.
  'alter table snapshots drop constraint snapshots_origin_check',
  `alter table snapshots add constraint snapshots_origin_check check (origin in ('user', 'fork', 'backup'))`,
  `update snapshots set origin = 'backup' where id in (select id from database_backups)`,
  // `proof`: in which a backup is tried; nobody sees it.
  'alter table sandboxes drop constraint sandboxes_managed_by_check',
  `alter table sandboxes add constraint sandboxes_managed_by_check check (managed_by in ('app', 'database', 'proof'))`,
  // taken_at: when the snapshot was whole, so that all in it is from before. proof_due_at: when it is to be tried next.
  // proof_lease_until: until then a process tries it. proof_tries: those that came to nothing, through no fault of the backup's that is known.
  `alter table database_backups
     add column taken_at timestamptz(3) not null default now(),
     add column verified text not null default 'pending' check (verified in ('pending', 'ok', 'failed')),
     add column verified_at timestamptz(3),
     add column verify_error text,
     add column proof_due_at timestamptz(3) not null default now(),
     add column proof_lease_until timestamptz(3),
     add column proof_tries integer not null default 0`,
  `create index database_backups_proof_idx on database_backups (proof_due_at) where verified = 'pending'`,
  // The first soon after the beginning: nothing from before it can be restored.
  `alter table databases alter column backup_due_at set default now() + interval '10 minutes'`,
  // Ids of sandboxes of proofs, longer than their rows: what agents tell of them is nobody's event, and costs nobody anything.
  `create table backup_proofs (
    id uuid primary key,
    created_at timestamptz(3) not null default now()
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
