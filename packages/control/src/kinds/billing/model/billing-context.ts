import type { WorkspaceQueue } from '../../../platform/limits/workspace-queue.ts'
import type { OrgsContext } from '../../orgs/identity/orgs-context.ts'
import type { Payments } from './payments.ts'

export interface BillingContext extends OrgsContext {
  /** `null` without a payment provider. */
  readonly payments: Payments | null
  /** Serializes the quota checks of new sandboxes, per workspace. */
  readonly creates: WorkspaceQueue
}
