import type { BillingContext } from './model/billing-context.ts'
import { underLease } from '../../platform/db/lease.ts'
import { accountOf, noteSubscription } from '../orgs/identity/account-statements.ts'
import { resendLimits } from './limits/sandbox-limits.ts'

/** An ended subscription gives no plan. The workspace keeps its plan, and creates are refused because of the status. */
const OVER = 'canceled'

/**
 * Copies the provider's state of a subscription. It holds a lease for the workspace from the question until the answer
 * is written, so that an older answer never overwrites a newer one.
 *
 * @throws ApiError 502 if the provider cannot be asked; then nothing has changed
 */
export async function syncSubscription(
  { database: { pool }, payments, lock }: Pick<BillingContext, 'database' | 'payments' | 'lock'>,
  workspaceId: string,
): Promise<void> {
  if (payments === null) return
  await underLease({ pool, lock }, `billing ${workspaceId}`, async (commit) => {
    const [account] = await accountOf(pool, workspaceId)
    const customer = account?.customer_id
    if (customer === null || customer === undefined) return
    const subscription = await payments.subscriptionOf(customer)
    const { id = null, status = null, plan = null } = subscription ?? {}
    await commit(async (client) => {
      const [before] = await accountOf(client, workspaceId)
      await noteSubscription(client, workspaceId, id, status, status === OVER ? null : plan)
      const [synced] = await accountOf(client, workspaceId)
      if (before && synced) await resendLimits(client, workspaceId, before.plan, synced.plan)
    })
  })
}
