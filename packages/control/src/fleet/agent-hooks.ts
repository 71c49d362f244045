import type { AgentInfo, AgentRecord } from '@offshoot/contract/agent-api'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Queryable } from '../platform/db/statement.ts'
import type { AgentClient } from './agent-client.ts'
import type { ReconcileBrake } from './reconcile-brake.ts'

/** One agent whose objects are compared with the rows that refer to it. */
export interface ReconcileOptions {
  readonly pool: pg.Pool
  readonly client: AgentClient
  readonly agentId: string
  readonly log: Logger
  /** Decides which objects without a row may be deleted. */
  readonly brake: ReconcileBrake
}

/** How a kind handles an agent's reports. */
export interface AgentHooks {
  /** Stores what an agent offers. Called whenever that changes. */
  readonly storeOffer?: (client: pg.PoolClient, info: AgentInfo) => Promise<void>
  /** Sandboxes whose records no other kind may see. */
  readonly hiddenAmong?: (on: Queryable, sandboxIds: readonly string[]) => Promise<readonly string[]>
  /** Prepares for records, before the transaction that applies them. */
  readonly prepareRecords?: (records: readonly AgentRecord[]) => Promise<void>
  /** Applies records exactly once, before the sandboxes' rows change. The transaction also moves the log's cursor. */
  readonly applyRecords?: (client: pg.PoolClient, records: readonly AgentRecord[]) => Promise<void>
  /**
   * Compares an agent's objects with the rows that refer to it.
   * @returns the number of abandoned rows that it removed. Their objects may still appear on the agent
   */
  readonly reconcile?: (options: ReconcileOptions, requestId: string) => Promise<number>
  /** Sends the agent settings that it may have missed, after all comparisons. */
  readonly resend?: (options: ReconcileOptions, requestId: string) => Promise<void>
}
