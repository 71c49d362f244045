import { exportMetrics } from '@offshoot/kit/otlp/telemetry'
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Agent } from '../../sandbox/agent.ts'
import { listQuarantine } from '../../sandbox/recovery/quarantine.ts'
import { registerDiskMetrics } from './register-disk-metrics.ts'
import { registerMemoryMetrics } from './register-memory-metrics.ts'
import { registerNetworkMetrics } from './register-network-metrics.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** `GET /metrics`, without a credential: Prometheus text, in which no label is an id. */
export function getMetrics(server: FastifyInstance, { host }: Agent): void {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const durations = new Histogram({
    name: 'offshoot_agent_request_seconds',
    help: 'Time to answer, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers: [registry],
  })
  const sandboxes = new Gauge({
    name: 'offshoot_agent_sandboxes',
    help: 'Sandboxes on this agent, by status',
    labelNames: ['status'],
    registers: [],
    collect() {
      this.reset()
      for (const { manifest } of host.sandboxes.values()) this.inc({ status: manifest.status })
    },
  })
  registry.registerMetric(sandboxes)
  const quarantined = new Gauge({
    name: 'offshoot_agent_quarantine_objects',
    help: 'Objects on disk that the agent neither uses nor deletes, by state (quarantined, unreadable) and kind',
    labelNames: ['state', 'kind'],
    registers: [registry],
    collect() {
      this.reset()
      for (const state of ['quarantined', 'unreadable']) this.set({ state, kind: 'sandbox' }, 0)
      for (const { state, kind } of listQuarantine(host.store)) quarantined.inc({ state, kind })
    },
  })
  registerDiskMetrics(registry, host.store)
  registerMemoryMetrics(registry, host)
  registerNetworkMetrics(registry, host)
  exportMetrics(registry)
  server.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown'
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000)
  })
  server.get('/metrics', { config: { isPublic: true } }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return registry.metrics()
  })
}
