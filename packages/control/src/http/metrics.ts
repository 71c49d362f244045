import { diskState } from '@offshoot/contract/agent-disk'
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import type { Fleet } from '../agents/fleet.ts'
import { waitingByAgent } from '../agents/reconcile-statements.ts'
import type { RouteDocs } from './route-docs.ts'
import { countTrees } from '../trees/tree-statements.ts'
import { countByStatus } from '../sandboxes/sandbox-statements.ts'

/** Seconds; from a lookup to a command that runs long. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

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

export function createMetrics(database: Database, fleet: Fleet): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  gauge('offshoot_agents', 'Agents in the configuration', () => fleet.agents.length)
  gauge('offshoot_agents_up', 'Agents that answer', () => fleet.agents.filter((agent) => agent.isReachable).length)
  gauge('offshoot_agents_foreign', 'Agents that obey another cluster', () => {
    return fleet.agents.filter((agent) => agent.isForeign).length
  })
  gauge('offshoot_database_connections', 'Open connections of the pool', () => database.pool.totalCount)
  gauge('offshoot_database_connections_idle', 'Idle connections of the pool', () => database.pool.idleCount)
  gauge('offshoot_database_waiting', 'Statements that wait for a connection', () => database.pool.waitingCount)
  const sandboxes = new Gauge({
    name: 'offshoot_sandboxes',
    help: 'Sandboxes by status',
    labelNames: ['status'],
    registers,
    async collect() {
      // Without the database the rest is still worth reading.
      const rows = await countByStatus(database.pool).catch(() => [])
      sandboxes.reset()
      for (const { status, count } of rows) sandboxes.set({ status }, count)
    },
  })
  const skipped = new Counter({
    name: 'offshoot_agent_records_skipped_total',
    help: 'Records of agents that this version does not understand and passed over',
    registers,
    collect() {
      skipped.reset()
      skipped.inc(fleet.skippedRecords)
    },
  })
  const waiting = new Gauge({
    name: 'offshoot_reconcile_waiting',
    help: 'Objects that reconciliation removes only when an operator confirms it (docs/recovery.md)',
    registers,
    async collect() {
      const rows = await waitingByAgent(database.pool).catch(() => null)
      if (rows !== null) waiting.set(rows.reduce((sum, { count }) => sum + count, 0))
    },
  })
  const trees = new Gauge({
    name: 'offshoot_app_trees',
    help: 'Installed trees of apps that are kept for their next builds, by status',
    labelNames: ['status'],
    registers,
    async collect() {
      const rows = await countTrees(database.pool).catch(() => [])
      trees.reset()
      for (const { status, count } of rows) trees.set({ status }, count)
    },
  })
  const memory = new Gauge({
    name: 'offshoot_agents_memory_mib',
    help: 'Memory of all agents together when each was last looked at (`GET /v1/agent` says what each kind is)',
    labelNames: ['kind'],
    registers,
    collect() {
      memory.reset()
      for (const { info } of fleet.agents) {
        for (const [kind, mib] of Object.entries(info?.memory_mib ?? {})) memory.inc({ kind }, mib)
      }
    },
  })
  const disk = new Gauge({
    name: 'offshoot_agents_disk_bytes',
    help: 'Disks of all agents together when each was last looked at: total, free',
    labelNames: ['kind'],
    registers,
    collect() {
      disk.reset()
      for (const { info } of fleet.agents) {
        disk.inc({ kind: 'total' }, info?.disk?.total_bytes ?? 0)
        disk.inc({ kind: 'free' }, info?.disk?.free_bytes ?? 0)
      }
    },
  })
  const disks = new Gauge({
    name: 'offshoot_agents_disk',
    help: 'Agents by the state of their disk when each was last looked at: ok, low, refusing',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of diskState.options) {
        disks.set({ state }, fleet.agents.filter(({ info }) => info?.disk?.state === state).length)
      }
    },
  })
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

/**
 * `GET /metrics`, and the timing of every request by its route's template, never its path. It needs no credential, so no
 * label is an id; `GET /v1/admin/metrics` has those.
 */
export function registerMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    const labels = { method: request.method, route: request.routeOptions.url ?? 'none', status: reply.statusCode }
    metrics.requests.observe(labels, reply.elapsedTime / 1000)
  })
  app.get('/metrics', { config: { docs: METRICS_DOCS } }, async (_request, reply) => {
    reply.header('content-type', metrics.registry.contentType)
    return metrics.registry.metrics()
  })
}
