import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // One token lets one host join. `public_key` is the SHA-256 of the key that used it: that host may ask again.
  `create table host_tokens (
     hash bytea primary key,
     created_at timestamptz(3) not null default now(),
     expires_at timestamptz(3) not null,
     public_key bytea,
     host_id uuid,
     check ((public_key is null) = (host_id is null))
   )`,
  'create index host_tokens_expires_at_idx on host_tokens (expires_at)',
  // A host that has joined. `secret` is what it shares with control, `edge_secret` with the edges. Both are sealed.
  `create table joined_hosts (
     id uuid primary key,
     url text not null,
     secret bytea not null,
     edge_secret bytea not null,
     created_at timestamptz(3) not null default now()
   )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
