import type { SandboxListQuery } from '@offshoot/contract/sandbox-list'
import { type Kysely, sql } from 'kysely'
import { pageConditions } from '../../platform/http/page-of.ts'
import { SEEN } from '../../fleet/sandbox-row.ts'
import { sandboxColumns, type SandboxRow } from '../../fleet/sandbox-row.ts'

/** One page, newest first. Reads one row more than fits, which tells whether there is a next page. */
export async function listSandboxes(
  db: Kysely<never>,
  workspaceId: string,
  query: SandboxListQuery,
): Promise<readonly SandboxRow[]> {
  const conditions = [sql`workspace_id = ${workspaceId}`, sql.raw(SEEN)]
  if (query.template !== undefined) conditions.push(sql`template = ${query.template}`)
  if (query.status !== undefined) conditions.push(sql`status = ${query.status}`)
  if (Object.keys(query.metadata).length > 0) conditions.push(sql`metadata @> ${JSON.stringify(query.metadata)}::jsonb`)
  conditions.push(...pageConditions(query))
  const where = sql.join(conditions, sql` and `)
  const { rows } = await sql<SandboxRow>`
    select ${sql.raw(sandboxColumns())} from sandboxes where ${where} order by created_at desc, id desc limit ${query.limit + 1}
  `.execute(db)
  return rows
}
