import { z } from 'zod'
import { integer, optional, requiredText, requiredTogether, text } from './fields.ts'
import { hostLabels, hostZone } from './host-label.ts'
import { createdQuery, once } from './page.ts'
import { planName } from './plan.ts'
import { queryBoolean, queryOneOf } from './query-fields.ts'

const MAX_REASON_CHARS = 500
/** Maximum US dollars of one grant. */
const MAX_CREDIT_USD = 1_000_000

/** Body of `POST /v1/admin/orgs/{id}/plan`. */
export const setPlanBody = z.object({
  plan: z.enum(planName.options, { error: `plan must be one of ${planName.options.join(', ')}` }),
})

/** Body of `POST /v1/admin/orgs/{id}/suspend`. */
export const suspendBody = z.object({ reason: optional(text('reason', MAX_REASON_CHARS)) })

const CREDIT_REFUSED = `credit_usd must be a number from 0.01 to ${MAX_CREDIT_USD}`

/** Body of `POST /v1/admin/orgs/{id}/credit`. */
export const grantCreditBody = z.object({
  /** US dollars for the current calendar month (UTC), in addition to the plan's credit. */
  credit_usd: z.number({ error: CREDIT_REFUSED }).min(0.01, CREDIT_REFUSED).max(MAX_CREDIT_USD, CREDIT_REFUSED),
  reason: requiredText('reason', MAX_REASON_CHARS),
})

const MAX_RATE = 1_000_000

/** Body of `POST /v1/admin/orgs/{id}/rate`: both fields, or neither to restore the configured rate. */
export const setRateBody = z
  .object({ burst: optional(integer('burst', 1, MAX_RATE)), per_second: optional(integer('per_second', 1, MAX_RATE)) })
  .refine(
    ({ burst, per_second }) => (burst === undefined) === (per_second === undefined),
    'burst and per_second required together',
  )
  .meta(requiredTogether('burst', 'per_second'))

/**
 * Body of `POST /v1/admin/orgs/{id}/placement`. Control places the workspace's new objects only on hosts that have all of
 * this. An absent field requires nothing.
 */
export const setPlacementBody = z.object({
  /** Labels that a host must have, all of them. */
  labels: optional(hostLabels('labels')),
  /** The zone that a host must be in. */
  zone: optional(hostZone('zone')),
})

/** A workspace as operators see it. */
export const operatedOrg = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  plan: planName,
  suspended: z.boolean(),
  /** E-mail addresses of its owners. */
  owners: z.array(z.string()),
  /** Control places the workspace's new objects only on hosts that have this. */
  placement: z.object({
    /** All of these. */
    labels: z.record(z.string(), z.string()),
    /** `null`: any zone. */
    zone: z.string().nullable(),
  }),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type OperatedOrg = z.infer<typeof operatedOrg>

/** Query of `GET /v1/admin/orgs`. */
export const operatedOrgsQuery = createdQuery.extend({
  plan: queryOneOf('plan', planName.options),
  suspended: queryBoolean('suspended'),
  /** A complete slug, or the complete e-mail address of a member. */
  q: z.string({ error: 'q must be given once' }).max(320, 'q must be at most 320 characters').optional(),
})

/** Answer of `GET /v1/admin/keys` and `POST /v1/admin/keys/rotate`. */
export const keysAnswer = z.object({
  /** The version that seals new values. 0: the secret of the data directory itself, before the first rotation. */
  current: z.int(),
  /** Oldest first. A key goes when no stored value names it. */
  keys: z.array(
    z.object({
      version: z.int(),
      /** RFC 3339, UTC, milliseconds. */
      created_at: z.string(),
      /** The key seals nothing before. */
      active_at: z.string(),
      /** No stored value names an older key. */
      is_resealed: z.boolean(),
    }),
  ),
})
export type KeysAnswer = z.infer<typeof keysAnswer>

/** What a job of control does now. A `failed` job has no attempt left. */
export const jobState = z.enum(['waiting', 'running', 'retrying', 'failed'])
export type JobState = z.infer<typeof jobState>

/** A job of control as operators see it (docs/jobs.md). */
export const operatedJob = z.object({
  id: z.string(),
  task: z.string(),
  state: jobState,
  /** The id of the row that the job is about; `null` if it is about none. */
  subject: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds: when it is due, or due again after a failure. */
  run_at: z.string(),
  attempts: z.number(),
  max_attempts: z.number(),
  /** Of the last attempt that failed. */
  error: z.string().nullable(),
  created_at: z.string(),
})
export type OperatedJob = z.infer<typeof operatedJob>

/** Query of `GET /v1/admin/jobs`. */
export const operatedJobsQuery = createdQuery.extend({
  task: once('task').max(100, 'task must be at most 100 characters').optional(),
  state: queryOneOf('state', jobState.options),
})

/**
 * What an operator may do, each role also what those before it may: `viewer` reads, `operator` changes everything except
 * operators, `owner` changes operators.
 */
export const OPERATOR_ROLES = ['viewer', 'operator', 'owner'] as const
const operatorRole = z.enum(OPERATOR_ROLES, { error: `role must be one of ${OPERATOR_ROLES.join(', ')}` })
export type OperatorRole = z.infer<typeof operatorRole>

const MAX_NAME_CHARS = 100
/** Ten years. */
const MAX_EXPIRY_DAYS = 3650

const name = requiredText('name', MAX_NAME_CHARS)
  .refine((text) => text.trim() !== '', 'name required')
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'name must not contain NUL or half a surrogate pair')

/** Body of `POST /v1/admin/operators`. */
export const createOperatorBody = z.object({ name, role: operatorRole })

/** Body of `PATCH /v1/admin/operators/{id}`. Absent fields stay as they are. */
export const patchOperatorBody = z.object({ name: optional(name), role: optional(operatorRole) })

/** One who operates the service. */
export const operator = z.object({
  /** UUID. */
  id: z.string(),
  name: z.string(),
  role: operatorRole,
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type Operator = z.infer<typeof operator>

/** Query of `GET /v1/admin/operators`. */
export const operatorsQuery = createdQuery.extend({
  name: once('name').optional(),
  role: queryOneOf('role', OPERATOR_ROLES),
})

/** Body of `POST /v1/admin/operators/{id}/keys`. */
export const createOperatorKeyBody = z.object({
  name,
  /** 1 to 3650 days. Default: the key never expires. */
  expires_in_days: optional(integer('expires_in_days', 1, MAX_EXPIRY_DAYS)),
})

/** A key of an operator, without its secret. */
export const operatorKey = z.object({
  /** `ofs_op_` and 8 characters, or `bootstrap`. Identifies the key, also to revoke it. */
  prefix: z.string(),
  name: z.string(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** `null`: never. */
  expires_at: z.string().nullable(),
  /** Accurate to the minute; `null` before the first use. */
  last_used_at: z.string().nullable(),
})
export type OperatorKey = z.infer<typeof operatorKey>

/** Answer of `POST /v1/admin/operators/{id}/keys`, the only one that contains the secret. */
export const createdOperatorKey = operatorKey.extend({ key: z.string() })
export type CreatedOperatorKey = z.infer<typeof createdOperatorKey>

/** Query of `GET /v1/admin/operators/{id}/keys`. */
export const operatorKeysQuery = createdQuery.extend({
  name: once('name').optional(),
  /** Whether the key has expired. */
  expired: queryBoolean('expired'),
})
