import { z } from 'zod'

/** Plans that can be subscribed to. */
export const paidPlan = z.enum(['pro', 'team'], { error: 'plan must be one of pro, team' })
export type PaidPlan = z.infer<typeof paidPlan>

/** Body of `POST /v1/billing/checkout`. Where the payment page leads back to is the service's configuration, never the caller's. */
export const checkoutBody = z.object({ plan: paidPlan })

/** Answer of `POST /v1/billing/checkout` and `/portal`: a page of the payment provider. */
export const billingLink = z.object({ url: z.string() })

/** Answer of `POST /v1/billing/sync`. */
export const billingSync = z.object({
  plan: z.string(),
  /** As the payment provider calls it; `null` without a subscription. */
  subscription_status: z.string().nullable(),
  /** Of this month, of the plan and of grants. */
  credit_usd: z.number(),
  /** In this month, up to now. */
  cost_usd_used: z.number(),
  /** RFC 3339: when this was last made equal to what the provider says; now, where there is no provider to ask. */
  synced_at: z.string(),
})
export type BillingSync = z.infer<typeof billingSync>
