import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The key is PKCS #8 in PEM, sealed. At most one row.
  `create table fleet_authority (
     is_only boolean primary key default true check (is_only),
     certificate text not null,
     key bytea not null,
     created_at timestamptz(3) not null default now()
   )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
