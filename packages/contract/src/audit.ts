import { z } from 'zod'
import { createdQuery, once, queryTime } from './page.ts'
import { queryInteger, queryOneOf } from './query-fields.ts'

/** All actions that the audit log records. */
export const auditAction = z.enum([
  'token.created',
  'token.revoked',
  'org.created',
  'org.updated',
  'org.deleted',
  'org.emptied',
  'org.plan_set',
  'org.suspended',
  'org.unsuspended',
  'org.credit_granted',
  'org.rate_set',
  'org.placement_set',
  'invitation.created',
  'invitation.revoked',
  'member.joined',
  'member.role_changed',
  'member.removed',
  /** Those of operators and their keys belong to no workspace. */
  'operator.created',
  'operator.updated',
  'operator.removed',
  'operator_key.created',
  'operator_key.revoked',
  /** Belongs to no workspace: an operator confirmed a host's reconciliation. */
  'host.reconciled',
  /** Belong to no workspace: an operator made a token for a host, a host has used one, an operator removed a host. */
  'host.token_created',
  'host.joined',
  'host.removed',
  /** Belong to no workspace: an operator keeps new sandboxes away from a host, or lets them on it again. */
  'host.cordoned',
  'host.uncordoned',
  /** Belong to no workspace: an operator began to drain a host, and everything that can move has been tried. */
  'host.drain_begun',
  'host.drained',
  /** An operator drains the sandbox's host, so it is on another host from now on. */
  'sandbox.moved',
  'sandbox.recovered',
  /** An operator drains the host of the snapshot or template, so it belongs to another host from now on. */
  'snapshot.moved',
  'template.moved',
  /** The database's host was lost, so it is on another host from now on. Commits after `until` may be missing. */
  'database.recovered',
  /** An operator drains the host of the app, or that host or the VM is lost: a version of another host serves now. */
  'app.moved',
  'app.recovered',
  /** Belongs to no workspace: an operator changed the labels or the zone of a host. */
  'host.updated',
  /** Belongs to no workspace. The target is the version of the new sealing key. */
  'keys.rotated',
  /**
   * Belong to no workspace: a new authority of the fleet, and the next step of its rotation, with an operator's reason if
   * nobody was waited for any longer. The target is the version that the fleet uses from then on.
   */
  'authority.rotation_begun',
  'authority.advanced',
  /** Belongs to no workspace. The target is the id of the account, which names nobody any more. */
  'account.deleted',
  /** The target is the fingerprint of the key. */
  'ssh_key.created',
  'ssh_key.removed',
  'ssh_certificate.issued',
  /** A client opened a connection to the SSH gateway. The target is the sandbox. */
  'ssh.connected',
  /** A request that changes something and has no action of its own. `details` has method, route and status. */
  'request.made',
  /** A request whose answer has a secret. `details` as above. */
  'secret.read',
])
export type AuditAction = z.infer<typeof auditAction>

/** What the target of an entry is. */
export const auditTargetKind = z.enum([
  'app',
  'authority',
  'build',
  'database',
  'host',
  'installation',
  'invitation',
  'job',
  'operator',
  'operator_key',
  'org',
  'sandbox',
  'sealing_key',
  'snapshot',
  'ssh_key',
  'template',
  'token',
  'user',
  'volume',
  'webhook',
])
export type AuditTargetKind = z.infer<typeof auditTargetKind>

const actorType = z.enum(['user', 'key', 'sandbox', 'operator', 'service'])

/** One entry of `GET /v1/audit`: actor, action, time and source address. */
export const auditEntry = z.object({
  id: z.string(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** `service`: Offshoot itself, completing an operation that a user began. */
  actor: z.object({
    type: actorType,
    /** Id of a user or of an operator, or prefix of a key. `sandbox`: the sandbox whose own credential was used. */
    id: z.string().nullable(),
  }),
  action: auditAction,
  /** The object of the action: an id, a prefix or an address, depending on the action. */
  target: z.string().nullable(),
  /** `null`: the action has no object, or the entry is from before this field. */
  target_kind: auditTargetKind.nullable(),
  /** Client address of the request. */
  ip: z.string().nullable(),
  request_id: z.string().nullable(),
  /** Keys depend on the action, and may grow. */
  details: z.record(z.string(), z.unknown()),
})
export type AuditEntry = z.infer<typeof auditEntry>

/** An entry of `GET /v1/admin/audit`, the log of all workspaces. */
export const operatedAuditEntry = auditEntry.extend({
  /** `null`: the action belongs to no workspace. */
  workspace_id: z.string().nullable(),
  /** `name`: of an operator, `null` for others. */
  actor: auditEntry.shape.actor.extend({ name: z.string().nullable() }),
})
export type OperatedAuditEntry = z.infer<typeof operatedAuditEntry>

/** Query of `GET /v1/audit`: newest first. */
export const auditQuery = createdQuery.extend({
  action: queryOneOf('action', auditAction.options),
  /** Id of a user or of an operator, or prefix of a key. */
  actor: once('actor').optional(),
  actor_type: queryOneOf('actor_type', actorType.options),
  target: once('target').optional(),
  target_kind: queryOneOf('target_kind', auditTargetKind.options),
  request_id: once('request_id').optional(),
  /** Status of the answer. Entries of changes that have an action of their own have none. */
  status: queryInteger('status', 100, 599),
  /** RFC 3339. Entries at or after this time. */
  from: queryTime('from'),
  /** RFC 3339. Entries before this time. */
  to: queryTime('to'),
})

/** Query of `GET /v1/admin/audit`. */
export const operatedAuditQuery = auditQuery.extend({ workspace_id: once('workspace_id').optional() })
export type AuditFilter = Omit<z.output<typeof operatedAuditQuery>, 'limit' | 'cursor'>

/** `ndjson` has one entry on each line, `csv` begins with the names of the columns. */
const format = { format: queryOneOf('format', ['ndjson', 'csv']) }

/** Query of `GET /v1/audit/export`: the filters of the list, and the format. */
export const auditExportQuery = auditQuery.omit({ limit: true, cursor: true }).extend(format)

/** Query of `GET /v1/admin/audit/export`. */
export const operatedAuditExportQuery = operatedAuditQuery.omit({ limit: true, cursor: true }).extend(format)
