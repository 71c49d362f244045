import { PRICE_MONTH_SECONDS, PRICES } from '@offshoot/contract/price'
import type { Database } from '../../platform/db/database.ts'
import { statement } from '../../platform/db/statement.ts'
import type { Payments } from './payments.ts'
import { usageByState } from './metering/usage-query.ts'

const DAY_MS = 24 * 3600 * 1000
/** Micro-dollars of a MiB of volumes in an hour. */
const MIB_HOUR_MICRO_USD = (PRICES.volumeGib * 3600) / PRICE_MONTH_SECONDS / 1024

const withStorage = statement<{ workspace_id: string; customer_id: string }, []>(
  'customers-with-storage',
  `select a.workspace_id, a.customer_id from workspace_accounts a join meters m on m.id = a.workspace_id and m.kind = 'storage'
   where a.customer_id is not null and a.plan_source = 'subscription'`,
)

/**
 * Tells the payment provider what volumes had beyond their plan yesterday (UTC). Said again by every process and at every
 * run of the day: the provider counts a day of a workspace once.
 */
export async function reportOverage(
  { database, payments }: { readonly database: Database; readonly payments: Payments | null },
  now = Date.now(),
): Promise<void> {
  if (payments === null || !payments.reportsOverage) return
  const [from, to] = [now - DAY_MS, now].map((ms) => new Date(ms).toISOString().slice(0, 10)) as [string, string]
  for (const { workspace_id: workspaceId, customer_id: customer } of await withStorage(database.pool)) {
    const states = await usageByState(database.db, { workspaceId, from, to })
    const cost = states.find(({ state }) => state === 'storage')?.cost_micro_usd ?? 0
    const mibHours = Math.round(cost / MIB_HOUR_MICRO_USD)
    if (mibHours > 0) await payments.reportOverage(customer, workspaceId, from, mibHours)
  }
}
