import { type Kysely, sql } from 'kysely'

/** Pages of long lists are read in the order of these indexes (docs/lists.md). */
const STATEMENTS = [
  'create index template_builds_workspace_idx on template_builds (workspace_id, created_at desc, id desc)',
  `create index volumes_snapshots_idx on volumes (workspace_id, name, created_at desc, id desc) where kind = 'snapshot'`,
  'create index api_keys_newest_idx on api_keys (workspace_id, created_at desc, prefix desc) where revoked_at is null',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
