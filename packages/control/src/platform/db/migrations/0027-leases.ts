import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Leases for work that only one request may do at a time and that waits for the network, without holding a
  // connection. A lease ends with its work, with its creator's process, or some minutes after created_at.
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
