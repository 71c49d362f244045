import type { BillingContext } from '../../billing/model/billing-context.ts'
import type { EventStore } from './event-store.ts'

export interface SandboxesContext extends BillingContext {
  /** The events of the last 90 days. */
  readonly events: EventStore
  /** Tells those who follow events of new ones. */
  readonly eventFeed: { listen(workspaceId: string, wake: () => void): () => void }
}
