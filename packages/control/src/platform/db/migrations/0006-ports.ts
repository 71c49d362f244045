import { type Kysely, sql } from 'kysely'

/** The ports that users have named. The agent reports listening ports without a name. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const statement = `create table sandbox_ports (
    sandbox_id uuid not null references sandboxes (id) on delete cascade,
    port integer not null check (port between 1 and 65535),
    label text,
    created_at timestamptz(3) not null default now(),
    primary key (sandbox_id, port)
  )`
  await sql.raw(statement).execute(db)
}
