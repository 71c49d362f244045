import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Work that only one request may do at a time and that waits for the network: no connection is held meanwhile. A lease is over
  // when its work is, when the process creator is gone, or some minutes after created_at.
  `create table leases (
    name text primary key,
    holder uuid not null,
    creator integer not null,
    created_at timestamptz(3) not null default now()
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
