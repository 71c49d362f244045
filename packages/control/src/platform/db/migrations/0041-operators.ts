import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // A removed operator stays, because audit entries name it. is_bootstrap: the one whose key is in the configuration.
  `create table operators (
    id uuid primary key default gen_random_uuid(),
    name text not null,
    role text not null check (role in ('viewer', 'operator', 'owner')),
    is_bootstrap boolean not null default false,
    created_at timestamptz(3) not null default clock_timestamp(),
    removed_at timestamptz(3)
  )`,
  'create unique index operators_bootstrap_idx on operators (is_bootstrap) where is_bootstrap',
  `create table operator_keys (
    prefix text primary key,
    operator_id uuid not null references operators,
    hash bytea not null,
    name text not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    expires_at timestamptz(3),
    last_used_at timestamptz(3),
    revoked_at timestamptz(3)
  )`,
  'create index operator_keys_operator_idx on operator_keys (operator_id, created_at desc, prefix desc)',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
