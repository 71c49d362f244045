import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // The lease of a joined host, without which none of its databases runs there.
  //   renewals: counts up before each renewal is sent, so a lease with an unchanged number was not renewed.
  //   seconds: the most for which a renewal may still be valid that was sent until now.
  //   is_confirmed: the agent has noted that its databases need a lease.
  //   ended_at, ended_in: control has declared that the lease ended, in this incarnation of the database. Until the lease
  //   is granted anew, with the next generation, databases of the host may be brought up elsewhere.
  `create table host_leases (
     agent_id text primary key references agents (id),
     generation integer not null default 1,
     renewals integer not null default 1,
     seconds double precision not null,
     is_confirmed boolean not null default false,
     renewed_at timestamptz(3) not null default now(),
     ended_at timestamptz(3),
     ended_in text,
     check ((ended_at is null) = (ended_in is null))
   )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
