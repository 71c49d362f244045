import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // A new link of a user replaces the one before. token_sha256: of the link's token.
  `create table sign_in_links (
    user_id uuid primary key references "user" ("id") on delete cascade,
    token_sha256 bytea not null unique,
    expires_at timestamptz not null
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
