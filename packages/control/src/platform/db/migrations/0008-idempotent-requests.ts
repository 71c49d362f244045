import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Creates with an Idempotency-Key, kept for 24 hours. status and answer are null until the first request was
  // answered. Answers contain secrets, so they are encrypted. resource_id: the id of the object that the first request
  // creates, if the route supports it.
  `create table idempotent_requests (
    workspace_id uuid not null references organization (id) on delete cascade,
    key text not null,
    fingerprint bytea not null,
    creator integer not null,
    resource_id uuid not null,
    status integer,
    answer bytea,
    created_at timestamptz(3) not null default now(),
    primary key (workspace_id, key),
    check ((status is null) = (answer is null))
  )`,
  'create index idempotent_requests_age_idx on idempotent_requests (created_at)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
