import { z } from 'zod'
import { once, pageQuery } from './page.ts'

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
  'invitation.created',
  'invitation.revoked',
  'member.joined',
  'member.role_changed',
  'member.removed',
  /** Belongs to no workspace: an operator confirmed a host's reconciliation. */
  'host.reconciled',
  /** Belongs to no workspace. The target is the version of the new sealing key. */
  'keys.rotated',
  /** Belongs to no workspace. The target is the id of the account, which names nobody any more. */
  'account.deleted',
  /** A request that changes something and has no action of its own. `details` has method, route and status. */
  'request.made',
  /** A request whose answer has a secret. `details` as above. */
  'secret.read',
])
export type AuditAction = z.infer<typeof auditAction>

/** Retention in days. */
export const AUDIT_DAYS = 365

/** One entry of `GET /v1/audit`: actor, action, time and source address. */
export const auditEntry = z.object({
  id: z.string(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** `service`: Offshoot itself, completing an operation that a user began. */
  actor: z.object({
    type: z.enum(['user', 'key', 'operator', 'service']),
    /** Id of a user, or prefix of a key. */
    id: z.string().nullable(),
  }),
  action: auditAction,
  /** The object of the action: an id, a prefix or an address, depending on the action. */
  target: z.string().nullable(),
  /** Client address of the request. */
  ip: z.string().nullable(),
  request_id: z.string().nullable(),
  /** Keys depend on the action, and may grow. */
  details: z.record(z.string(), z.unknown()),
})
export type AuditEntry = z.infer<typeof auditEntry>

const time = (name: string) =>
  once(name)
    .refine((text) => !Number.isNaN(Date.parse(text)), `${name} must be a timestamp`)
    .transform((text) => new Date(text).toISOString())
    .optional()

/** Query of `GET /v1/audit`: newest first. */
export const auditQuery = pageQuery.extend({
  action: z.enum(auditAction.options, { error: `action must be one of ${auditAction.options.join(', ')}` }).optional(),
  /** RFC 3339. Entries at or after this time. */
  from: time('from'),
  /** RFC 3339. Entries before this time. */
  to: time('to'),
})
