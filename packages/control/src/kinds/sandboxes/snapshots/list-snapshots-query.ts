import type { SnapshotListQuery } from '@offshoot/contract/snapshot'
import { type Kysely, sql } from 'kysely'
import { pageConditions } from '../../../platform/http/page-of.ts'
import { SNAPSHOT_COLUMNS, type SnapshotRow } from './snapshot-row.ts'

/** One page, in the same way as {@link file://../list-sandboxes-query.ts}. */
export async function listSnapshots(
  db: Kysely<never>,
  workspaceId: string,
  query: SnapshotListQuery,
): Promise<readonly SnapshotRow[]> {
  const conditions = [
    sql`workspace_id = ${workspaceId}`,
    sql`origin = 'user'`,
    sql`status = 'ready'`,
    ...(query.sandboxId === undefined ? [] : [sql`sandbox_id = ${query.sandboxId}`]),
    ...pageConditions(query),
  ]
  const { rows } = await sql<SnapshotRow>`
    select ${sql.raw(SNAPSHOT_COLUMNS)} from snapshots where ${sql.join(conditions, sql` and `)}
    order by created_at desc, id desc limit ${query.limit + 1}
  `.execute(db)
  return rows
}
