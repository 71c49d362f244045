import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The keys that seal stored secrets, sealed by the secret in the data directory. Version 0 is that secret itself.
  // active_at: until then every process only learns the key. resealed_at: no value names an older key any more.
  `create table sealing_keys (
    version integer primary key check (version > 0),
    sealed bytea not null,
    created_at timestamptz(3) not null default now(),
    active_at timestamptz(3) not null,
    resealed_at timestamptz(3)
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
