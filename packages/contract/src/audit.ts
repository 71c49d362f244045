import { z } from 'zod'
import { once, pageQuery } from './page.ts'

/** Everything the audit log tells of. */
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
  /** Of no workspace: an operator let a host's reconciliation go on. */
  'host.reconciled',
])
export type AuditAction = z.infer<typeof auditAction>

/** Days for which the log is kept. */
export const AUDIT_DAYS = 365

/** One entry of `GET /v1/audit`: who did what, when, from where. */
export const auditEntry = z.object({
  id: z.string(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** `service`: Offshoot itself, finishing what somebody began. */
  actor: z.object({
    type: z.enum(['user', 'key', 'operator', 'service']),
    /** Of a user its id, of a key its prefix. */
    id: z.string().nullable(),
  }),
  action: auditAction,
  /** What it was done to: an id, a prefix or an address, by the action. */
  target: z.string().nullable(),
  /** Address the request came from. */
  ip: z.string().nullable(),
  request_id: z.string().nullable(),
  /** By the action; keys may join. */
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
  /** RFC 3339; entries from then on. */
  from: time('from'),
  /** RFC 3339; entries before then. */
  to: time('to'),
})
