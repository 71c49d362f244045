import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  `alter table sandboxes add column egress text not null default 'internet' check (egress in ('internet', 'none'))`,
  // The egress setting of the sandbox from which the snapshot was taken.
  `alter table snapshots add column egress text not null default 'internet' check (egress in ('internet', 'none'))`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
