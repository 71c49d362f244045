import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Two users may have the same key: control tells them apart by the sandbox that they ask for.
  `create table ssh_keys (
     id uuid primary key default gen_random_uuid(),
     user_id uuid not null references "user" (id) on delete cascade,
     name text not null,
     blob bytea not null,
     fingerprint text not null,
     created_at timestamptz(3) not null default now(),
     last_used_at timestamptz(3),
     unique (user_id, fingerprint)
   )`,
  'create index ssh_keys_fingerprint_idx on ssh_keys (fingerprint)',
  // The gateway's identity and the authority of certificates. PKCS #8 in PEM, sealed.
  `create table ssh_service_keys (
     purpose text primary key check (purpose in ('host', 'authority')),
     key bytea not null,
     created_at timestamptz(3) not null default now()
   )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
