import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { Event } from '@offshoot/contract/event'
import type { Queryable } from '../../../platform/db/statement.ts'

/** Which of a workspace's events, newest first. */
export interface EventFilter {
  readonly workspaceId: string
  readonly types: readonly string[] | undefined
  readonly sandboxId: string | undefined
  /** RFC 3339; inclusive. */
  readonly from: string | undefined
  /** RFC 3339; exclusive. */
  readonly to: string | undefined
  /** The event to go on after. */
  readonly after: { readonly ts: string; readonly sandboxId: string } | undefined
  readonly limit: number
}

/**
 * Events of the last {@link EVENT_DAYS} days by workspace. What stands behind it may be another database than ours: records
 * come at least once, and are told apart by workspace, moment and sandbox.
 */
export interface EventStore {
  /** Makes room for these records. Before the transaction that appends them: it waits for all who are appending. */
  prepare(records: readonly AgentRecord[]): Promise<void>
  /** @param on the transaction that moves the cursor of the agent's log */
  append(on: Queryable, records: readonly AgentRecord[]): Promise<void>
  list(filter: EventFilter): Promise<readonly Event[]>
  /** Drops what is too old, and makes room for the days to come. */
  sweep(): Promise<void>
}

/** Days for which events are kept. */
export const EVENT_DAYS = 90
