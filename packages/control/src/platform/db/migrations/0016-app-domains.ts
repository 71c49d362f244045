import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // token: the part of the DNS record's value that identifies this app and domain. Several apps may claim a domain; it
  // serves the app that was verified last.
  `create table app_domains (
    app_id uuid not null references apps (id) on delete cascade,
    domain text not null,
    token text not null,
    verified_at timestamptz(3),
    created_at timestamptz(3) not null default now(),
    primary key (app_id, domain)
  )`,
  'create unique index app_domains_verified_idx on app_domains (domain) where verified_at is not null',
  `create trigger app_domains_changed after insert or update or delete on app_domains
     for each row execute function tell_of_app()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
