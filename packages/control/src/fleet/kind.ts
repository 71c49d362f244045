import type { AgentInfo, AgentRecord } from '@offshoot/contract/agent-api'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import type { Registry } from 'prom-client'
import type { Queryable } from '../platform/db/statement.ts'
import type { DescribedRoute } from '../platform/http/route-docs.ts'
import type { Job } from '../platform/jobs/job.ts'
import type { FleetContext } from './fleet-context.ts'
import type { ReconcileOptions } from './reconcile.ts'

/**
 * A resource kind: all that control knows of one noun, handed over as one value. `control.ts` and `server.ts` iterate over the kinds
 * and name none. A kind imports the platform, the fleet and the kinds before it.
 */
export interface Kind<C extends FleetContext> {
  readonly name: string
  readonly routes: (app: FastifyInstance, control: C) => void | Promise<void>
  /** Routes that a library serves. */
  readonly describedRoutes?: readonly DescribedRoute[]
  readonly agents?: (control: C) => AgentHooks
  /** Starts the jobs that every control process runs. */
  readonly startJobs?: (control: C) => readonly Job[]
  /** Statements that delete expired rows. Every process runs them, also at the same time. */
  readonly sweeps?: readonly ((pool: pg.Pool) => Promise<unknown>)[]
  readonly addMetrics?: (registry: Registry, control: C) => void
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
}
