import type { AuditAction } from '@offshoot/contract/audit'
import { AUDIT_DAYS } from '@offshoot/contract/audit'
import { type Queryable, statement } from '../db/statement.ts'
import type { Actor } from './actor.ts'

export const insertEntry = statement<
  { readonly id: string },
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
   values ($1, $2, $3, $4, $5, $6, $7, $8) returning id`,
)

/** Adds the status of the answer to the entry of a request. */
export const noteStatus = statement<never, [id: string, status: number]>(
  'note-status-of-audited-request',
  `update audit_log set details = details || jsonb_build_object('status', $2::int) where id = $1`,
)

export interface Deed {
  readonly workspaceId: string | null
  readonly action: AuditAction
  readonly target: string | null
  /** Must not contain secrets: every reader of the log sees them. */
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * Call it in the transaction of the action itself, so that an action is committed only with its entry.
 * @returns the id of the entry
 */
export async function recordDeed(on: Queryable, actor: Actor, deed: Deed): Promise<string | undefined> {
  const { workspaceId, action, target, details = {} } = deed
  const { type, id, ip, requestId } = actor
  const text = JSON.stringify(details)
  const [entry] = await insertEntry(on, workspaceId, type, id, action, target, ip, requestId, text)
  return entry?.id
}

/** Upper limit of entries deleted by one sweep. The next sweep deletes the rest. */
const SWEEP_ROWS = 10_000

export const removeOldEntries = statement<never, []>(
  'remove-old-audit-entries',
  `delete from audit_log where id in (
     select id from audit_log where created_at < now() - interval '${AUDIT_DAYS} days' limit ${SWEEP_ROWS})`,
)
