import type { Kind } from '../../fleet/kind.ts'
import { lane } from '../../platform/jobs/task.ts'
import type { BillingContext } from './model/billing-context.ts'
import { billingRoutes } from './billing-routes.ts'
import { CreditMonitor } from './credit-monitor.ts'
import { liftedSandboxes, unpaidSandboxes } from './credit-pauses.ts'
import { getStatement } from './get-statement.ts'
import { getLimits } from './limits/get-limits.ts'
import { pruneCreates } from './limits/quota-statements.ts'
import { getUsage } from './metering/get-usage.ts'
import { meterRecords } from './metering/meter-records.ts'
import { settleMeters } from './metering/settle-meters.ts'
import { settleStorage } from './metering/settle-storage.ts'
import { operatedOrgRoutes } from './operated-org-routes.ts'
import { postStripeWebhook } from './post-stripe-webhook.ts'
import { reportOverage } from './report-overage.ts'

/** Plans, quotas, metering, credit, statements and payments. */
export const billing: Kind<BillingContext> = {
  name: 'billing',
  routes(app, control) {
    operatedOrgRoutes(app, control)
    getUsage(app, control)
    getLimits(app, control)
    getStatement(app, control)
    billingRoutes(app, control)
    postStripeWebhook(app, control)
  },
  agents: () => ({ applyRecords: meterRecords }),
  lanes(control) {
    const { database, fleet, outbox, payments, log } = control
    const { pool } = database
    const credit = new CreditMonitor({ database, fleet, outbox, log })
    return [
      lane('objects', [
        unpaidSandboxes(control),
        liftedSandboxes(control),
        { name: 'assess-credit', recur: ({ signal }) => credit.watch(signal) },
        { name: 'settle-meters', cron: '* * * * *', run: () => settleMeters(pool) },
        { name: 'settle-storage', cron: '* * * * *', run: () => settleStorage(pool) },
        { name: 'report-overage', cron: '5 * * * *', run: () => reportOverage({ database, payments, log }) },
        { name: 'prune-creates', cron: '*/10 * * * *', run: () => pruneCreates(pool) },
      ]),
    ]
  },
}
