import type { AuditAction } from '@offshoot/contract/audit'
import { AUDIT_DAYS } from '@offshoot/contract/audit'
import { type Queryable, statement } from '../db/statement.ts'
import type { Actor } from './actor.ts'

const insertEntry = statement<
  never,
  [
    workspaceId: string | null,
    actorType: string,
    actorId: string | null,
    action: string,
    target: string | null,
    ip: string | null,
    requestId: string | null,
    details: string,
  ]
>(
  'insert-audit-entry',
  `insert into audit_log (workspace_id, actor_type, actor_id, action, target, ip, request_id, details)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
)

export interface Deed {
  readonly workspaceId: string | null
  readonly action: AuditAction
  readonly target: string | null
  /** No secrets: whoever may read the log sees them. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** To be called in the transaction of the deed itself: what is not in the log was not done. */
export async function recordDeed(on: Queryable, actor: Actor, deed: Deed): Promise<void> {
  const { workspaceId, action, target, details = {} } = deed
  const { type, id, ip, requestId } = actor
  await insertEntry(on, workspaceId, type, id, action, target, ip, requestId, JSON.stringify(details))
}

/** Entries that are removed at once at most; the rest has its turn at the next look. */
const SWEEP_ROWS = 10_000

export const removeOldEntries = statement<never, []>(
  'remove-old-audit-entries',
  `delete from audit_log where id in (
     select id from audit_log where created_at < now() - interval '${AUDIT_DAYS} days' limit ${SWEEP_ROWS})`,
)
