import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { Event } from '@offshoot/contract/event'
import type { Queryable } from '../../../platform/db/statement.ts'

/** Selects a workspace's events; newest first. */
export interface EventFilter {
  readonly workspaceId: string
  readonly types: readonly string[] | undefined
  readonly sandboxId: string | undefined
  /** RFC 3339; inclusive. */
  readonly from: string | undefined
  /** RFC 3339; exclusive. */
  readonly to: string | undefined
  /** The last event of the previous page. */
  readonly after: { readonly ts: string; readonly sandboxId: string } | undefined
  readonly limit: number
}

/**
 * The events of the last {@link EVENT_DAYS} days by workspace. An implementation may use a database other than
 * control's. Records arrive at least once, and are identified by workspace, time and sandbox.
 */
export interface EventStore {
  /**
   * Creates the partitions for these records. Must run before the transaction that appends them, because it waits for
   * all appending transactions.
   */
  prepare(records: readonly AgentRecord[]): Promise<void>
  /** @param on the transaction that moves the cursor of the agent's log */
  append(on: Queryable, records: readonly AgentRecord[]): Promise<void>
  list(filter: EventFilter): Promise<readonly Event[]>
  /** Drops old days, and creates the partitions of the coming ones. */
  sweep(): Promise<void>
}

/** Days for which events are kept. */
export const EVENT_DAYS = 90
