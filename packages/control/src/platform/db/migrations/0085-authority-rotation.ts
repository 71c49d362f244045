import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Counts the changes of what the fleet trusts and of who signs. Each certificate says at which version it was issued.
  'alter table fleet_authority add column version integer not null default 0',
  // The authority beside the one that signs. It has a key while it is new, and none when it is the old one.
  'alter table fleet_authority add column other_certificate text',
  'alter table fleet_authority add column other_key bytea',
  'alter table fleet_authority add check (other_key is null or other_certificate is not null)',
  // A token for a host that has joined, which joins again with its id and its data.
  'alter table host_tokens add column for_host uuid',
  // The version of the certificate that the host has shown last.
  'alter table joined_hosts add column shown_version integer not null default 0',
  // The version that each control process and each edge uses. An edge of an earlier version says nothing of itself, so
  // each of its certificates has a row until it expires.
  `create table certified_processes (
     role text not null check (role in ('control', 'edge')),
     id text not null,
     version integer not null,
     until timestamptz(3) not null,
     primary key (role, id)
   )`,
  `insert into certified_processes (role, id, version, until)
     select 'edge', gen_random_uuid()::text, 0, now() + interval '24 hours' from fleet_authority`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
