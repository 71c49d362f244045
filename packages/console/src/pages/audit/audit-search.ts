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

export const ACTIONS: readonly NonNullable<AuditQuery['action']>[] = [
  'request.made',
  'secret.read',
  'token.created',
  'token.revoked',
  'ssh.connected',
  'ssh_key.created',
  'ssh_key.removed',
  'ssh_certificate.issued',
  'member.joined',
  'member.role_changed',
  'member.removed',
  'invitation.created',
  'invitation.revoked',
  'org.created',
  'org.updated',
  'org.plan_set',
  'org.suspended',
  'org.unsuspended',
  'org.credit_granted',
  'org.rate_set',
]

export const TARGET_KINDS: readonly NonNullable<AuditQuery['target_kind']>[] = [
  'app',
  'build',
  'database',
  'installation',
  'invitation',
  'org',
  'sandbox',
  'snapshot',
  'ssh_key',
  'template',
  'token',
  'user',
  'volume',
  'webhook',
]
