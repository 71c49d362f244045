import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Without an app, the certificate is that of the API's own name.
  'alter table app_certificates alter app_id drop not null',
  'create unique index app_certificates_own_key on app_certificates (domain) where app_id is null',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
