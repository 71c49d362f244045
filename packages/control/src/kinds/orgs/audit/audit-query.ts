import type { AuditAction, AuditEntry } from '@offshoot/contract/audit'
import type { Page } from '@offshoot/contract/page'
import { type Kysely, sql } from 'kysely'
import { pageConditions } from '../../../platform/http/page-of.ts'

export interface AuditRow {
  readonly id: string
  readonly actor_type: AuditEntry['actor']['type']
  readonly actor_id: string | null
  readonly action: AuditAction
  readonly target: string | null
  readonly ip: string | null
  readonly request_id: string | null
  readonly details: Record<string, unknown>
  readonly created_at: Date
}

export interface AuditFilter extends Page {
  readonly action: AuditAction | undefined
  readonly from: string | undefined
  readonly to: string | undefined
}

/** Newest first. Returns one entry more than fits on the page. */
export async function listAudit(
  db: Kysely<never>,
  workspaceId: string,
  filter: AuditFilter,
): Promise<readonly AuditRow[]> {
  const { action, from, to, limit } = filter
  const conditions = [
    sql`workspace_id = ${workspaceId}`,
    ...(action === undefined ? [] : [sql`action = ${action}`]),
    ...(from === undefined ? [] : [sql`created_at >= ${from}::timestamptz`]),
    ...(to === undefined ? [] : [sql`created_at < ${to}::timestamptz`]),
    ...pageConditions(filter),
  ]
  const { rows } = await sql<AuditRow>`
    select id, actor_type, actor_id, action, target, ip, request_id, details, created_at from audit_log
    where ${sql.join(conditions, sql` and `)}
    order by created_at desc, id desc limit ${limit + 1}`.execute(db)
  return rows
}
