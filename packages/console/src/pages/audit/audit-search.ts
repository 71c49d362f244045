import type { RouteInput } from '@offshoot/sdk'

export type AuditQuery = NonNullable<RouteInput<'GET /v1/audit'>['query']>

/** The filters, which are part of the page's address. */
export interface AuditSearch {
  readonly action?: string | undefined
  readonly actor?: string | undefined
  readonly kind?: string | undefined
  readonly target?: string | undefined
  readonly request?: string | undefined
  /** Days, `YYYY-MM-DD`. */
  readonly after?: string | undefined
  readonly before?: string | undefined
}

const text = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined)
const day = (value: unknown) => (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined)

export function auditSearch(found: Record<string, unknown>): AuditSearch {
  return {
    action: text(found['action']),
    actor: text(found['actor']),
    kind: text(found['kind']),
    target: text(found['target']),
    request: text(found['request']),
    after: day(found['after']),
    before: day(found['before']),
  }
}

/** The query of `GET /v1/audit` and of its export. Both days are included, in UTC. */
export function auditQuery({ action, actor, kind, target, request, after, before }: AuditSearch): AuditQuery {
  const query = {
    action,
    actor,
    target_kind: kind,
    target,
    request_id: request,
    created_after: after && `${after}T00:00:00.000Z`,
    created_before: before && `${before}T23:59:59.999Z`,
  }
  // The service refuses actions and kinds that it does not know.
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as AuditQuery
}

type Action = NonNullable<AuditQuery['action']>
type TargetKind = NonNullable<AuditQuery['target_kind']>

/** Every action, and whether the log of a workspace can have it. The compiler notices one that is missing here. */
const IS_OF_WORKSPACE: Readonly<Record<Action, boolean>> = {
  'request.made': true,
  'secret.read': true,
  'token.created': true,
  'token.revoked': true,
  'ssh.connected': true,
  'ssh_key.created': true,
  'ssh_key.removed': true,
  'ssh_certificate.issued': true,
  'member.joined': true,
  'member.role_changed': true,
  'member.removed': true,
  'invitation.created': true,
  'invitation.revoked': true,
  'org.created': true,
  'org.updated': true,
  'org.plan_set': true,
  'org.suspended': true,
  'org.unsuspended': true,
  'org.credit_granted': true,
  'org.rate_set': true,
  'org.placement_set': true,
  'org.deleted': false,
  'org.emptied': false,
  'operator.created': false,
  'operator.updated': false,
  'operator.removed': false,
  'operator_key.created': false,
  'operator_key.revoked': false,
  'host.reconciled': false,
  'host.token_created': false,
  'host.joined': false,
  'host.removed': false,
  'host.cordoned': false,
  'host.uncordoned': false,
  'host.drain_begun': false,
  'host.drained': false,
  'sandbox.moved': true,
  'sandbox.recovered': true,
  'snapshot.moved': true,
  'template.moved': true,
  'database.recovered': true,
  'app.moved': true,
  'app.recovered': true,
  'host.updated': false,
  'keys.rotated': false,
  'authority.rotation_begun': false,
  'authority.advanced': false,
  'account.deleted': false,
}

const IS_IN_WORKSPACE: Readonly<Record<TargetKind, boolean>> = {
  app: true,
  authority: false,
  build: true,
  database: true,
  host: false,
  installation: true,
  invitation: true,
  job: false,
  operator: false,
  operator_key: false,
  org: true,
  sandbox: true,
  sealing_key: false,
  snapshot: true,
  ssh_key: true,
  template: true,
  token: true,
  user: true,
  volume: true,
  webhook: true,
}

const chosenOf = <Name extends string>(table: Readonly<Record<Name, boolean>>) =>
  (Object.keys(table) as Name[]).filter((name) => table[name])

export const ACTIONS: readonly Action[] = chosenOf(IS_OF_WORKSPACE)
export const TARGET_KINDS: readonly TargetKind[] = chosenOf(IS_IN_WORKSPACE)
