import type { AuditAction, AuditEntry, AuditFilter, OperatedAuditEntry } from '@offshoot/contract/audit'
import { type RawBuilder, sql } from 'kysely'
import { createdBetween, equals, equalsId, type ListOrder, newestFirst } from '../../../platform/http/page-of.ts'

export interface AuditRow {
  readonly id: string
  readonly workspace_id: string | null
  readonly actor_type: AuditEntry['actor']['type']
  readonly actor_id: string | null
  readonly action: AuditAction
  readonly target: string | null
  readonly target_kind: AuditEntry['target_kind']
  readonly ip: string | null
  readonly request_id: string | null
  readonly details: Record<string, unknown>
  readonly created_at: Date
}

export const AUDIT_ORDER: ListOrder<AuditRow> = newestFirst('audit', 'audit_log')

/** Selects {@link AuditRow}s, without conditions. */
export const SELECT_AUDIT = `select id, workspace_id, actor_type, actor_id, action, target, target_kind, ip, request_id,
  details, created_at from audit_log`

export function auditConditions(filter: AuditFilter): RawBuilder<unknown>[] {
  const { action, actor, actor_type: actorType, target, target_kind: targetKind, from, to, status } = filter
  return [
    ...equalsId('workspace_id', filter.workspace_id),
    ...equals('action', action),
    ...equals('actor_id', actor),
    ...equals('actor_type', actorType),
    ...equals('target', target),
    ...equals('target_kind', targetKind),
    ...equals('request_id', filter.request_id),
    ...equals(`details->>'status'`, status === undefined ? undefined : String(status)),
    ...createdBetween('created_at', filter),
    ...(from === undefined ? [] : [sql`created_at >= ${from}::timestamptz`]),
    ...(to === undefined ? [] : [sql`created_at < ${to}::timestamptz`]),
  ]
}

export function presentOperatedEntry({
  actor_type: type,
  actor_id: id,
  created_at: createdAt,
  ...entry
}: AuditRow): OperatedAuditEntry {
  return { ...entry, created_at: createdAt.toISOString(), actor: { type, id } }
}

export function presentEntry(row: AuditRow): AuditEntry {
  const { workspace_id: _workspace, ...entry } = presentOperatedEntry(row)
  return entry
}
