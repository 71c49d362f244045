import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { EventPosition } from '@offshoot/contract/event-list'
import type { WorkspaceEvent } from '@offshoot/contract/workspace-event'
import type { Queryable } from '../../../platform/db/statement.ts'

/** Selects events of a workspace. */
export interface EventFilter {
  readonly workspaceId: string
  /** A type, all types of a group (`deploy.*`), or `*`. */
  readonly types?: readonly string[] | undefined
  readonly sandboxId?: string | undefined
  /** An id or a name that the event refers to. */
  readonly object?: string | undefined
  /** RFC 3339; inclusive. */
  readonly from?: string | undefined
  /** RFC 3339; exclusive. */
  readonly to?: string | undefined
}

/** A place in the list that is ordered by time. */
export interface ListPlace {
  readonly ts: string
  readonly objectId: string
}

/**
 * The events of the last {@link EVENT_DAYS} days by workspace. An implementation may use a database other than
 * control's. Records arrive at least once, and are identified by workspace, time and object.
 */
export interface EventStore {
  /**
   * Creates the partitions for these records. Must run before the transaction that appends them, because it waits for
   * all appending transactions.
   */
  prepare(records: readonly AgentRecord[]): Promise<void>
  /** @param on the transaction that moves the cursor of the agent's log */
  append(on: Queryable, records: readonly AgentRecord[]): Promise<void>
  /** By time, newest first. @param after the last event of the previous page */
  list(filter: EventFilter, after: ListPlace | undefined, limit: number): Promise<readonly WorkspaceEvent[]>
  /** The first events after a position, in the order of their arrival. Later reads return no event before them. */
  arrived(filter: EventFilter, after: EventPosition, limit: number): Promise<readonly WorkspaceEvent[]>
  /** The last events after a position, in the order of their arrival. */
  tail(filter: EventFilter, after: EventPosition, count: number): Promise<readonly WorkspaceEvent[]>
  /** The position of the last event that {@link arrived} can return, of any workspace. */
  end(): Promise<EventPosition>
  /** Drops old days, and creates the partitions of the coming ones. */
  sweep(): Promise<void>
}

/** Days for which events are kept. */
export const EVENT_DAYS = 90
