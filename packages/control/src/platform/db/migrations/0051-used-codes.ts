import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // RFC 6238, 5.2: a code of an authenticator app opens one sign-in only.
  `create table used_totp_codes (
    user_id uuid not null references "user" ("id") on delete cascade,
    code text not null,
    used_at timestamptz(3) not null default now(),
    primary key (user_id, code)
  )`,
  'create index used_totp_codes_used_at_idx on used_totp_codes (used_at)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
