import type { Kind } from '../../fleet/kind.ts'
import { Periodic } from '../../platform/jobs/periodic.ts'
import { Reaper } from '../../platform/jobs/reaper.ts'
import type { BillingContext } from './billing-context.ts'
import { billingRoutes } from './billing-routes.ts'
import { CreditKeeper } from './credit-keeper.ts'
import { liftedSandboxes, unpaidSandboxes } from './credit-pauses.ts'
import { getStatement } from './get-statement.ts'
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
    getStatement(app, control)
    billingRoutes(app, control)
    postStripeWebhook(app, control)
  },
  agents: () => ({ applyRecords: meterRecords }),
  startJobs(control) {
    const { database, fleet, outbox, payments, log } = control
    const { pool } = database
    const credit = new CreditKeeper({ database, fleet, outbox, log })
    return [
      new Reaper(unpaidSandboxes(control), log),
      new Reaper(liftedSandboxes(control), log),
      new Periodic({ what: 'look at credit', everyMs: 2_000, run: () => credit.look() }, log),
      new Periodic({ what: 'settling meters', everyMs: 60_000, run: () => settleMeters(pool) }, log),
      new Periodic({ what: 'settling storage', everyMs: 30_000, run: () => settleStorage(pool) }, log),
      new Periodic(
        { what: 'report of overage', everyMs: 3_600_000, run: () => reportOverage({ database, payments, log }) },
        log,
      ),
      new Periodic({ what: 'sweep of creates', everyMs: 600_000, run: () => pruneCreates(pool) }, log),
    ]
  },
}
