import { z } from 'zod'

/** Plans that a workspace can subscribe to. */
export const paidPlan = z.enum(['pro', 'team'], { error: 'plan must be one of pro, team' })
export type PaidPlan = z.infer<typeof paidPlan>

/** Body of `POST /v1/billing/checkout`. The return address comes from the configuration, never from the caller. */
export const checkoutBody = z.object({ plan: paidPlan })

/** Answer of `POST /v1/billing/checkout` and `/portal`: the address of a page of the payment provider. */
export const billingLink = z.object({ url: z.string() })

/** Answer of `POST /v1/billing/sync`. */
export const billingSync = z.object({
  plan: z.string(),
  /** The payment provider's own word; `null` without a subscription. */
  subscription_status: z.string().nullable(),
  /** US dollars of credit this month: the plan's and all grants. */
  credit_usd: z.number(),
  /** US dollars of usage this month, up to now. */
  cost_usd_used: z.number(),
  /** RFC 3339: the last synchronization with the payment provider. Without a provider, the current time. */
  synced_at: z.string(),
})
export type BillingSync = z.infer<typeof billingSync>
