import type { PlanName } from '@offshoot/contract/plan'
import { statement } from '../db/statement.ts'

/** Who chose a workspace's plan: nobody yet, an operator, or the payment provider's subscription. */
export type PlanSource = 'default' | 'operator' | 'subscription'

export interface AccountRow {
  readonly plan: PlanName
  readonly plan_source: PlanSource
  /** As the payment provider calls it; `null` without a subscription. */
  readonly subscription_status: string | null
  /** The free credit is spent until then. */
  readonly exhausted_until: Date | null
  readonly customer_id: string | null
  readonly subscription_id: string | null
  readonly synced_at: Date | null
}

/** Gives a workspace its account, unless it has one. */
export const ensureAccount = statement<never, [workspaceId: string, plan: PlanName, source: PlanSource]>(
  'ensure-account',
  `insert into workspace_accounts (workspace_id, plan, plan_source) values ($1, $2, $3)
   on conflict (workspace_id) do nothing`,
)

export const accountOf = statement<AccountRow, [workspaceId: string]>(
  'account-of',
  `select plan, plan_source, subscription_status, exhausted_until, customer_id, subscription_id, synced_at
   from workspace_accounts where workspace_id = $1`,
)

/** Holds back everybody else who counts what this workspace has, until the transaction ends. */
export const lockAccount = statement<AccountRow, [workspaceId: string]>(
  'lock-account',
  `select plan, plan_source, subscription_status, exhausted_until, customer_id, subscription_id, synced_at
   from workspace_accounts where workspace_id = $1 for update`,
)

/** No row: no such workspace. */
export const upsertPlan = statement<
  { workspace_id: string },
  [workspaceId: string, plan: PlanName, source: PlanSource]
>(
  'upsert-plan',
  `insert into workspace_accounts (workspace_id, plan, plan_source)
   select id, $2, $3 from organization where id = $1
   on conflict (workspace_id) do update set plan = excluded.plan, plan_source = excluded.plan_source
   returning workspace_id`,
)

/** `null` puts a workspace back to the configured rate. No row: it has no account. */
export const setRate = statement<
  { workspace_id: string },
  [workspaceId: string, burst: number | null, perSecond: number | null]
>(
  'set-rate',
  `update workspace_accounts set rate_burst = $2, rate_per_second = $3 where workspace_id = $1 returning workspace_id`,
)
