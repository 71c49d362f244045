import type { Kind } from '../../fleet/kind.ts'
import { lane } from '../../platform/jobs/task.ts'
import { deliveryRoutes } from './delivery-routes.ts'
import { disableOverfull, endOfDisabled, removeOldDeliveries } from './delivery/delivery-statements.ts'
import { deliverWebhooks, WEBHOOKS_AT_ONCE } from './delivery/deliver-webhooks.ts'
import { forgetOldSecrets } from './model/webhook-statements.ts'
import type { WebhooksContext } from './model/webhooks-context.ts'
import { webhookRoutes } from './webhook-routes.ts'

/** Webhooks: they send the events of a workspace to addresses of its users. */
export const webhooks: Kind<WebhooksContext> = {
  name: 'webhooks',
  routes(app, control) {
    webhookRoutes(app, control)
    deliveryRoutes(app, control)
  },
  // A lane of its own, because receivers may be slow.
  lanes: (control) => [lane('webhooks', [deliverWebhooks(control)], { atOnce: WEBHOOKS_AT_ONCE, pollMs: 1_000 })],
  sweeps: [disableOverfull, endOfDisabled, removeOldDeliveries, forgetOldSecrets],
}
