import { z } from 'zod'
import { once } from './page.ts'

/** What usage can be added up by. `app` and `database` have one group more, of key `null`: what belongs to none. */
export const usageGrouping = z.enum(['sandbox', 'template', 'app', 'database', 'day'])
export type UsageGrouping = z.infer<typeof usageGrouping>

/** Groups of one answer; those that cost most come first, days in their order. */
export const MAX_USAGE_GROUPS = 1_000

/** The UTC day of a date or RFC 3339 timestamp, `YYYY-MM-DD`; `up`: the day after, unless it is midnight. */
function day(name: string, up: boolean) {
  const refusal = `${name} must be a date (YYYY-MM-DD) or a timestamp`
  return once(name)
    .regex(/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}.*)?$/, refusal)
    .refine((text) => !Number.isNaN(Date.parse(text)), refusal)
    .transform((text) => new Date(Date.parse(text) + (up ? 24 * 3600 * 1000 - 1 : 0)).toISOString().slice(0, 10))
    .optional()
}

/** Query of `GET /v1/usage`. Usage is kept by days (UTC): days that are touched are counted whole. */
export const usageQuery = z.object({
  /** Its day is the first that counts; the first of this month when absent. */
  from: day('from', false),
  /** The first moment that counts no more; the end of today when absent. */
  to: day('to', true),
  group_by: z
    .enum(usageGrouping.options, { error: `group_by must be one of ${usageGrouping.options.join(', ')}` })
    .default('day'),
})

const figures = {
  /** Seconds, to the second. */
  running_seconds: z.int(),
  paused_seconds: z.int(),
  hibernated_seconds: z.int(),
  /** Seconds of running times vCPUs. */
  cpu_seconds: z.int(),
  /** Seconds in which volumes had more than the plan includes. */
  storage_seconds: z.int(),
  cost_usd: z.number(),
  /** The same, in millionths of a dollar. */
  cost_micro_usd: z.int(),
}

/** Answer of `GET /v1/usage`; what runs is counted up to now. */
export const usage = z.object({
  /** First day, `YYYY-MM-DD`. */
  from: z.string(),
  /** First day that does not count. */
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
  /** The month is over: only an agent that was away may still correct it. */
  is_final: z.boolean(),
  plan: z.string(),
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
  /** What the plan and grants cover of the usage. */
  credit_usd: z.number(),
  total_usd: z.number(),
})
export type StatementOfMonth = z.infer<typeof statementOfMonth>
