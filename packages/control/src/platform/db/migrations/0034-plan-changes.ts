import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Since when a workspace has had each of its plans. Statements of past months need it.
  `create table plan_changes (
    workspace_id uuid not null references organization (id) on delete cascade,
    at timestamptz(3) not null default now(),
    plan text not null,
    primary key (workspace_id, at)
  )`,
  // Earlier changes were not recorded.
  `insert into plan_changes (workspace_id, at, plan)
   select a.workspace_id, o."createdAt", a.plan from workspace_accounts a join organization o on o.id = a.workspace_id`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
