import type { PlanName } from '@offshoot/contract/plan'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { type Queryable, statement } from '../../../platform/db/statement.ts'

/** What set a workspace's plan: the default, an operator, or the payment provider's subscription. */
export type PlanSource = 'default' | 'operator' | 'subscription'

export interface AccountRow {
  readonly plan: PlanName
  readonly plan_source: PlanSource
  /** The payment provider's status; `null` without a subscription. */
  readonly subscription_status: string | null
  /** The workspace has spent its free credit until then. */
  readonly exhausted_until: Date | null
  readonly customer_id: string | null
  readonly subscription_id: string | null
  readonly synced_at: Date | null
}

/**
 * Records the plans of the accounts that a statement has written, where they differ from what was recorded last.
 * @param account the common table expression that returns them
 */
const RECORD_PLAN = (account: string) => `
  insert into plan_changes as c (workspace_id, plan)
  select a.workspace_id, a.plan from ${account} a where a.plan is distinct from (
    select l.plan from plan_changes l where l.workspace_id = a.workspace_id order by l.at desc limit 1)
  on conflict (workspace_id, at) do update set plan = excluded.plan`

/** Inserts a workspace's account unless it has one. */
export const ensureAccount = statement<never, [workspaceId: string, plan: PlanName, source: PlanSource]>(
  'ensure-account',
  `with account as (
     insert into workspace_accounts (workspace_id, plan, plan_source) values ($1, $2, $3)
     on conflict (workspace_id) do nothing returning workspace_id, plan
   )
   ${RECORD_PLAN('account')}`,
)

export const accountOf = statement<AccountRow, [workspaceId: string]>(
  'account-of',
  `select plan, plan_source, subscription_status, exhausted_until, customer_id, subscription_id, synced_at
   from workspace_accounts where workspace_id = $1`,
)

/** Blocks other transactions that check this workspace's quota, until the transaction ends. */
export const lockAccount = statement<AccountRow, [workspaceId: string]>(
  'lock-account',
  `select plan, plan_source, subscription_status, exhausted_until, customer_id, subscription_id, synced_at
   from workspace_accounts where workspace_id = $1 for update`,
)

/** No row: the workspace does not exist. */
export const upsertPlan = statement<
  { workspace_id: string },
  [workspaceId: string, plan: PlanName, source: PlanSource]
>(
  'upsert-plan',
  `with account as (
     insert into workspace_accounts (workspace_id, plan, plan_source)
     select id, $2, $3 from organization where id = $1
     on conflict (workspace_id) do update set plan = excluded.plan, plan_source = excluded.plan_source
     returning workspace_id, plan
   ), change as (${RECORD_PLAN('account')})
   select workspace_id from account`,
)

export const noteCustomer = statement<{ customer_id: string }, [workspaceId: string, customerId: string]>(
  'note-customer',
  `update workspace_accounts set customer_id = coalesce(customer_id, $2) where workspace_id = $1 returning customer_id`,
  { notNull: ['customer_id'] },
)

export const accountOfCustomer = statement<{ workspace_id: string }, [customerId: string]>(
  'account-of-customer',
  'select workspace_id from workspace_accounts where customer_id = $1',
)

/**
 * Stores the provider's state of a subscription. The subscription's plan applies, with two exceptions: an operator has
 * set another plan since the subscription began, or the subscription has ended. An ended subscription keeps its plan,
 * and creates are refused because of its status.
 */
export const noteSubscription = statement<
  never,
  [workspaceId: string, subscriptionId: string | null, status: string | null, plan: PlanName | null]
>(
  'note-subscription',
  `with account as (
     update workspace_accounts set
     plan = case when $4::text is not null and (plan_source <> 'operator' or subscription_id is distinct from $2) then $4
       else plan end,
     plan_source = case when $4::text is not null and (plan_source <> 'operator' or subscription_id is distinct from $2)
       then 'subscription' else plan_source end,
     subscription_id = $2, subscription_status = $3, synced_at = now()
     where workspace_id = $1 returning workspace_id, plan
   )
   ${RECORD_PLAN('account')}`,
)

/** Since when the workspace has had each of its plans, the oldest first. */
export const planChanges = statement<{ plan: PlanName; at: Date }, [workspaceId: string]>(
  'plan-changes',
  'select plan, at from plan_changes where workspace_id = $1 order by at',
)

/** `null` restores the configured rate. No row: the workspace has no account. */
export const setRate = statement<
  { workspace_id: string },
  [workspaceId: string, burst: number | null, perSecond: number | null]
>(
  'set-rate',
  `update workspace_accounts set rate_burst = $2, rate_per_second = $3 where workspace_id = $1 returning workspace_id`,
)

/** No row: the workspace has no account. */
export const setPlacement = statement<
  { workspace_id: string },
  [workspaceId: string, requiredLabels: string, requiredZone: string | null]
>(
  'set-placement',
  `update workspace_accounts set required_labels = $2, required_zone = $3 where workspace_id = $1 returning workspace_id`,
)

/** The workspace's account. Inserts it with the configured plan if it does not exist. */
export async function accountOfWorkspace(
  on: Queryable,
  workspaceId: WorkspaceId,
  defaultPlan: AccountRow['plan'],
): Promise<AccountRow> {
  const [known] = await accountOf(on, workspaceId)
  if (known !== undefined) return known
  await ensureAccount(on, workspaceId, defaultPlan, 'default')
  const [made] = await accountOf(on, workspaceId)
  if (made === undefined) throw new Error(`workspace ${workspaceId} has no account`)
  return made
}
