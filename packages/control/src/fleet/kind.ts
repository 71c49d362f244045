import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import type { Registry } from 'prom-client'
import type { DescribedRoute } from '../platform/http/route-docs.ts'
import type { PeriodicWork } from '../platform/jobs/periodic.ts'
import type { Lane } from '../platform/jobs/task.ts'
import type { AgentHooks } from './agent-hooks.ts'
import type { FleetContext } from './fleet-context.ts'
import type { Part } from './get-status.ts'

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
  /** The tasks of its jobs, in lanes that do not delay one another. */
  readonly lanes?: (control: C) => readonly Lane[]
  /** Refreshes what each process has in its memory. */
  readonly refreshes?: (control: C) => readonly PeriodicWork[]
  /** Statements that delete expired rows, run each minute. */
  readonly sweeps?: readonly ((pool: pg.Pool) => Promise<unknown>)[]
  /** Parts of the service by the names that `GET /v1/status` gives them. */
  readonly parts?: (control: C) => Readonly<Record<string, Part>>
  readonly addMetrics?: (registry: Registry, control: C) => void
}
