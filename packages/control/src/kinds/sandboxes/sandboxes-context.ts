import type { BillingContext } from '../billing/billing-context.ts'
import type { EventStore } from './events/event-store.ts'

export interface SandboxesContext extends BillingContext {
  /** The events of the last 90 days. */
  readonly events: EventStore
}
