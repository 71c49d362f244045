import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import type { Registry } from 'prom-client'
import type { DescribedRoute } from '../platform/http/route-docs.ts'
import type { Job } from '../platform/jobs/job.ts'
import type { AgentHooks } from './agent-hooks.ts'
import type { FleetContext } from './fleet-context.ts'

/**
 * A resource kind: everything that control implements for one noun, as one value. `control.ts` and `server.ts` iterate
 * over the kinds without naming any. A kind imports the platform, the fleet and the kinds before it.
 */
export interface Kind<C extends FleetContext> {
  readonly name: string
  readonly routes: (app: FastifyInstance, control: C) => void | Promise<void>
  /** Routes that a library serves. */
  readonly describedRoutes?: readonly DescribedRoute[]
  readonly agents?: (control: C) => AgentHooks
  /** Starts the jobs that every control process runs. */
  readonly startJobs?: (control: C) => readonly Job[]
  /** Statements that delete expired rows. Every process runs them, possibly concurrently. */
  readonly sweeps?: readonly ((pool: pg.Pool) => Promise<unknown>)[]
  readonly addMetrics?: (registry: Registry, control: C) => void
}
