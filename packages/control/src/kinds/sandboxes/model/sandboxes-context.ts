import type { BillingContext } from '../../billing/model/billing-context.ts'
import type { EventStore } from './event-store.ts'
import type { StoredStreams } from './stored-streams.ts'

export interface SandboxesContext extends BillingContext {
  /** The events of the last 90 days. */
  readonly events: EventStore
  /** `null`: there is no object store. */
  readonly storedStreams: StoredStreams | null
  /** Tells those who follow events of new ones. */
  readonly eventFeed: { listen(workspaceId: string, wake: () => void): () => void }
}
