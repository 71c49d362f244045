import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Why control itself replaces the live version; null: somebody has asked for the deployment. from_agent: the host that
  // the live version is on.
  `alter table app_deployments
     add column cause text check (cause in ('sandbox_lost', 'host_lost', 'host_drained')),
     add column from_agent text`,
  `create index app_deployments_from_idx on app_deployments (from_agent, created_at) where from_agent is not null`,
  // When no host could take the live version from a host that is drained.
  'alter table apps add column unplaced_at timestamptz(3)',
  // A job that waits begins some seconds late.
  ...['lost_at', 'retired_at', 'drain_begun_at'].map(
    (column) => `create trigger wake_replace_lost_versions_${column} after update of ${column} on agents for each row
     when (old.${column} is distinct from new.${column} and new.${column} is not null)
     execute function wake_job_of_change('replace-lost-versions')`,
  ),
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
