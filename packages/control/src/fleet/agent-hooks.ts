import type { AgentInfo, AgentRecord } from '@offshoot/contract/agent-api'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Queryable } from '../platform/db/statement.ts'
import type { AgentClient } from './agent-client.ts'
import type { ReconcileBrake } from './reconcile-brake.ts'

/** One agent, whose objects are compared with the rows that name it. */
export interface ReconcileOptions {
  readonly pool: pg.Pool
  readonly client: AgentClient
  readonly agentId: string
  readonly log: Logger
  /** Says which objects without a row may be deleted. */
  readonly brake: ReconcileBrake
}

/** What a kind does with what agents tell. */
export interface AgentHooks {
  /** Stores what an agent offers, whenever that changes. */
  readonly storeOffer?: (client: pg.PoolClient, info: AgentInfo) => Promise<void>
  /** Sandboxes whose records no other kind may see. */
  readonly hiddenAmong?: (on: Queryable, sandboxIds: readonly string[]) => Promise<readonly string[]>
  /** Prepares for records, before the transaction that applies them. */
  readonly prepareRecords?: (records: readonly AgentRecord[]) => Promise<void>
  /** Applies records exactly once, before the sandboxes' rows change: the transaction also moves the log's cursor. */
  readonly applyRecords?: (client: pg.PoolClient, records: readonly AgentRecord[]) => Promise<void>
  /**
   * Compares an agent's objects with the rows that name it.
   * @returns how many rows in the making were given up: their objects may still appear
   */
  readonly reconcile?: (options: ReconcileOptions, requestId: string) => Promise<number>
  /** Tells the agent what it may have missed, after all comparisons. */
  readonly retell?: (options: ReconcileOptions, requestId: string) => Promise<void>
}
