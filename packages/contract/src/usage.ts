import { z } from 'zod'
import { once } from './page.ts'
import { planName } from './plan.ts'

/** How usage is grouped. `app` and `database` have an additional group with the key `null`, for all other usage. */
export const usageGrouping = z.enum(['sandbox', 'template', 'app', 'database', 'day'])
export type UsageGrouping = z.infer<typeof usageGrouping>

/** Maximum groups in one answer: the most expensive first, or days in order. */
export const MAX_USAGE_GROUPS = 1_000

/** The UTC day (`YYYY-MM-DD`) of a date or RFC 3339 timestamp. `up` rounds to the next day, except at midnight. */
function day(name: string, up: boolean) {
  const refusal = `${name} must be a date (YYYY-MM-DD) or a timestamp`
  return once(name)
    .regex(/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}.*)?$/, refusal)
    .refine((text) => !Number.isNaN(Date.parse(text)), refusal)
    .transform((text) => new Date(Date.parse(text) + (up ? 24 * 3600 * 1000 - 1 : 0)).toISOString().slice(0, 10))
    .optional()
}

/** Query of `GET /v1/usage`. Usage is stored per UTC day, so a partly covered day counts in full. */
export const usageQuery = z.object({
  /** First day included. Default: the first day of this month. */
  from: day('from', false),
  /** End, exclusive. Default: the end of today. */
  to: day('to', true),
  group_by: z
    .enum(usageGrouping.options, { error: `group_by must be one of ${usageGrouping.options.join(', ')}` })
    .default('day'),
})

const figures = {
  /** Whole seconds. */
  running_seconds: z.int(),
  paused_seconds: z.int(),
  hibernated_seconds: z.int(),
  /** Running seconds times vCPUs. */
  cpu_seconds: z.int(),
  /** Seconds during which volumes exceeded the plan's included storage. */
  storage_seconds: z.int(),
  cost_usd: z.number(),
  /** The same in micro-dollars. */
  cost_micro_usd: z.int(),
}

/** Answer of `GET /v1/usage`. Usage of running sandboxes counts up to now. */
export const usage = z.object({
  /** First day, `YYYY-MM-DD`. */
  from: z.string(),
  /** First day excluded. */
  to: z.string(),
  group_by: usageGrouping,
  total: z.object(figures),
  groups: z.array(z.object({ key: z.string().nullable(), ...figures })),
})
export type Usage = z.infer<typeof usage>
export type UsageFigures = Usage['total']

/** Answer of `GET /v1/statements/{month}`. */
export const statementOfMonth = z.object({
  /** `YYYY-MM` (UTC). */
  month: z.string(),
  /** True after the month's end. Only a reconnecting agent may still correct it. */
  is_final: z.boolean(),
  /** The plan at the end of the month, or now. */
  plan: z.string(),
  /** Only if the plan changed within the month: its parts, by the plan that each day (UTC) began with. */
  plans: z
    .array(
      z.object({
        plan: z.string(),
        /** The first day, `YYYY-MM-DD`. */
        from: z.string(),
        usage_usd: z.number(),
        /** Part of the usage that this plan pays for, without grants. */
        credit_usd: z.number(),
      }),
    )
    .optional(),
  currency: z.literal('usd'),
  lines: z.array(
    z.object({
      item: z.enum(['running', 'paused', 'hibernated', 'storage']),
      seconds: z.int(),
      cpu_seconds: z.int(),
      cost_usd: z.number(),
    }),
  ),
  usage_usd: z.number(),
  /** Part of the usage that the plan and grants pay for. */
  credit_usd: z.number(),
  total_usd: z.number(),
})
export type StatementOfMonth = z.infer<typeof statementOfMonth>

/** What a plan limits. */
export const limitName = z.enum([
  'sandboxes',
  'cpu',
  'memory_mib',
  'creates_last_hour',
  'cpu_seconds_month',
  'usage_usd_month',
  'credit_usd_month',
  'volumes',
  'volume_mib_included',
  'webhooks',
  'members',
])

/** Answer of `GET /v1/usage/limits`. */
export const limits = z.object({
  plan: planName,
  /** The payment provider's word for the state of the subscription; `null` without one. */
  subscription_status: z.string().nullable(),
  limits: z.array(
    z.object({
      name: limitName,
      /** Sandboxes at once count also while they are paused or hibernated; members also while they are invited. */
      used: z.number(),
      /** `null`: the plan does not limit it. */
      max: z.number().nullable(),
    }),
  ),
})
export type Limits = z.infer<typeof limits>
