import { z } from 'zod'
import { integer, optional, requiredText, text } from './fields.ts'
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

/** A workspace as operators see it. */
export const operatedOrg = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  plan: planName,
  suspended: z.boolean(),
  /** E-mail addresses of its owners. */
  owners: z.array(z.string()),
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
