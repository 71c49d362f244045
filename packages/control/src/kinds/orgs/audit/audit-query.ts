import type { AuditAction, AuditEntry, AuditFilter, OperatedAuditEntry } from '@offshoot/contract/audit'
import { type RawBuilder, sql } from 'kysely'
import { createdBetween, equals, equalsId, type ListOrder, newestFirst } from '../../../platform/http/page-of.ts'

export interface AuditRow {
  readonly id: string
  readonly workspace_id: string | null
  readonly actor_type: AuditEntry['actor']['type']
  readonly actor_id: string | null
  /** Of an operator. */
  readonly actor_name: string | null
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
export const SELECT_AUDIT = `select * from (
  select a.*, o.name as actor_name
  from audit_log a left join operators o on a.actor_type = 'operator' and o.id::text = a.actor_id) audit_log`

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

export function presentOperatedEntry(row: AuditRow): OperatedAuditEntry {
  const { actor_type: type, actor_id: id, actor_name: name, created_at: createdAt, ...entry } = row
  return { ...entry, created_at: createdAt.toISOString(), actor: { type, id, name } }
}

/** A workspace sees the ids of operators, not their names. */
export function presentEntry(row: AuditRow): AuditEntry {
  const { workspace_id: _workspace, actor, ...entry } = presentOperatedEntry(row)
  return { ...entry, actor: { type: actor.type, id: actor.id } }
}
