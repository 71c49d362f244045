import type { AuditAction, AuditTargetKind } from '@offshoot/contract/audit'
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
    targetKind: AuditTargetKind | null,
    ip: string | null,
    requestId: string | null,
    details: string,
  ]
>(
  'insert-audit-entry',
  `insert into audit_log (workspace_id, actor_type, actor_id, action, target, target_kind, ip, request_id, details)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id`,
)

/** Adds the status of the answer to the entry of a request, and the name of the object that the request made. */
export const noteOutcome = statement<never, [id: string, status: number, made: string | null]>(
  'note-outcome-of-audited-request',
  `update audit_log set details = details || jsonb_build_object('status', $2::int), target = coalesce(target, $3)
   where id = $1`,
)

/** An action that its route records in the transaction of the change. */
export type OwnAction = Exclude<AuditAction, 'request.made' | 'secret.read'>
type Noun<Action extends string> = Action extends `${infer First}.${string}` ? First : never

/** The kind of the target, by the first word of the action. */
const KIND_OF: Record<Noun<OwnAction>, AuditTargetKind> = {
  token: 'token',
  app: 'app',
  org: 'org',
  invitation: 'invitation',
  member: 'user',
  account: 'user',
  operator: 'operator',
  operator_key: 'operator_key',
  host: 'host',
  keys: 'sealing_key',
  authority: 'authority',
  sandbox: 'sandbox',
  snapshot: 'snapshot',
  template: 'template',
  database: 'database',
  ssh: 'sandbox',
  ssh_key: 'ssh_key',
  ssh_certificate: 'ssh_key',
}

interface AuditEvent {
  readonly workspaceId: string | null
  readonly action: OwnAction
  readonly target: string | null
  /** Must not contain secrets: every reader of the log sees them. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** The entry of a request whose route has no action of its own. */
interface RequestEvent extends Omit<AuditEvent, 'action'> {
  readonly action: 'request.made' | 'secret.read'
  readonly targetKind: AuditTargetKind | null
}

/**
 * Call it in the transaction of the action itself, so that an action is committed only with its entry.
 * @returns the id of the entry
 */
export async function recordAuditEvent(
  on: Queryable,
  actor: Actor,
  event: AuditEvent | RequestEvent,
): Promise<string | undefined> {
  const { workspaceId, action, target, details = {} } = event
  const { type, id, ip, requestId } = actor
  const kind = 'targetKind' in event ? event.targetKind : KIND_OF[nounOf(event.action)]
  const text = JSON.stringify(details)
  const [entry] = await insertEntry(on, workspaceId, type, id, action, target, kind, ip, requestId, text)
  return entry?.id
}

const nounOf = (action: OwnAction) => action.split('.', 1)[0] as Noun<OwnAction>

/** Upper limit of entries deleted by one sweep. The next sweep deletes the rest. */
const SWEEP_ROWS = 10_000

export const removeOldEntries = statement<never, [days: number]>(
  'remove-old-audit-entries',
  `delete from audit_log where id in (
     select id from audit_log where created_at < now() - make_interval(days => $1::int) limit ${SWEEP_ROWS})`,
)
