import type { Kind } from '../../fleet/kind.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { reconcileVolumes } from './reconcile-volumes.ts'
import { volumeRoutes } from './volume-routes.ts'

export const volumes: Kind<BillingContext> = {
  name: 'volumes',
  routes: volumeRoutes,
  agents: () => ({ reconcile: reconcileVolumes }),
}
