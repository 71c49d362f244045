import { exportMetrics } from '@offshoot/kit/otlp/telemetry'
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { briefCache } from './brief-cache.ts'
import type { RouteDocs } from './route-docs.ts'

/** Seconds: from a lookup to a long command. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

/**
 * Milliseconds for which counts read from the database are cached. The route needs no credential, so callers must not
 * cause a query each.
 */
const FRESH_MS = 250

const METRICS_DOCS: RouteDocs = {
  summary: 'Figures for Prometheus',
  tag: 'Service',
  status: 200,
  mediaType: 'text/plain',
}

export interface Metrics {
  readonly registry: Registry
  readonly creates: Counter
  readonly requests: Histogram<'method' | 'route' | 'status'>
}

export function createMetrics(database: Database): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  addGauge(registry, 'offshoot_database_connections', 'Open connections of the pool', () => database.pool.totalCount)
  addGauge(
    registry,
    'offshoot_database_connections_idle',
    'Idle connections of the pool',
    () => database.pool.idleCount,
  )
  addGauge(
    registry,
    'offshoot_database_waiting',
    'Statements that wait for a connection',
    () => database.pool.waitingCount + database.pool.waitingTurns,
  )
  return {
    registry,
    creates: new Counter({ name: 'offshoot_sandboxes_created_total', help: 'Sandboxes created here', registers }),
    requests: new Histogram({
      name: 'offshoot_http_request_duration_seconds',
      help: 'Requests by route, method and status',
      labelNames: ['method', 'route', 'status'],
      buckets: DURATION_BUCKETS,
      registers,
    }),
  }
}

/** Adds a gauge whose value is read when the metrics are scraped. */
export function addGauge(registry: Registry, name: string, help: string, read: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}

/**
 * Adds counts by status, read from the database at most every {@link FRESH_MS}. If the database does not answer, they
 * are left out.
 */
export function addStatusGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Promise<readonly { readonly status: string; readonly count: number }[]>,
): void {
  const latest = briefCache(FRESH_MS, () => read().catch(() => []))
  const gauge = new Gauge({
    name,
    help,
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      const rows = await latest()
      gauge.reset()
      for (const { status, count } of rows) gauge.set({ status }, count)
    },
  })
}

/**
 * `GET /metrics`, and the duration of every request by its route template, never by its path. The route needs no
 * credential, so no label is an id. `GET /v1/admin/metrics` has the ids.
 */
export function registerMetrics(app: FastifyInstance, metrics: Metrics): void {
  exportMetrics(metrics.registry)
  app.addHook('onResponse', async (request, reply) => {
    const labels = { method: request.method, route: request.routeOptions.url ?? 'none', status: reply.statusCode }
    metrics.requests.observe(labels, reply.elapsedTime / 1000)
  })
  app.get('/metrics', { config: { docs: METRICS_DOCS } }, async (_request, reply) => {
    reply.header('content-type', metrics.registry.contentType)
    return metrics.registry.metrics()
  })
}
