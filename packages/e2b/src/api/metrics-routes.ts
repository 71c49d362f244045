import type { SandboxId } from '@offshoot/contract/ids'
import { type Sandbox, sandbox as sandboxSchema } from '@offshoot/contract/sandbox'
import { type MetricsPoint, sandboxMetrics } from '@offshoot/contract/sandbox-metrics'
import { logLine } from '@offshoot/contract/log'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { GatewayContext } from '../base/context.ts'
import { parseShownId } from '../base/sandbox-id.ts'
import { keyOf, parse, sandboxIdOf } from './request.ts'

const MIB = 1024 * 1024
/** Sandboxes in one request for several. */
const MAX_SANDBOXES = 100

const range = z.object({
  /** Unix time in seconds. */
  start: z.coerce.number().optional(),
  end: z.coerce.number().optional(),
})

/** What sandboxes use, over the last hour, and what they printed. */
export function metricsRoutes(app: FastifyInstance, context: GatewayContext): void {
  app.get('/sandboxes/:id/metrics', async (request) => {
    const { start, end } = parse(range, request.query)
    const points = await pointsOf(context, keyOf(request), sandboxIdOf(request))
    return points.filter(({ timestampUnix: at }) => at >= (start ?? 0) && at <= (end ?? Number.POSITIVE_INFINITY))
  })

  app.get('/sandboxes/metrics', async (request) => {
    const { sandbox_ids: ids } = parse(z.object({ sandbox_ids: z.string() }), request.query)
    const token = keyOf(request)
    const named = ids.split(',').slice(0, MAX_SANDBOXES)
    const latest = await Promise.all(
      named.map(async (shown) => {
        const id = parseShownId(shown)
        const points = id === null ? [] : await pointsOf(context, token, id)
        return [shown, points.at(-1)] as const
      }),
    )
    return { sandboxes: Object.fromEntries(latest.filter(([, point]) => point !== undefined)) }
  })

  for (const path of ['/sandboxes/:id/logs', '/v2/sandboxes/:id/logs']) {
    app.get(path, async (request) => {
      const lines = await context.control.read(z.array(logLine), {
        method: 'GET',
        path: `/v1/sandboxes/${sandboxIdOf(request)}/logs`,
        query: { format: 'json' },
        token: keyOf(request),
      })
      const logs = lines.map(({ ts, line }) => ({ timestamp: ts, line }))
      return {
        logs,
        logEntries: logs.map(({ timestamp, line }) => ({ timestamp, message: line, level: 'info', fields: {} })),
      }
    })
  }
}

async function pointsOf({ control }: GatewayContext, token: string, id: SandboxId) {
  const path = `/v1/sandboxes/${id}`
  const [sandbox, { points, now }] = await Promise.all([
    control.read(sandboxSchema, { method: 'GET', path, token }),
    control.read(sandboxMetrics, { method: 'GET', path: `${path}/metrics`, query: { step: 10 }, token }),
  ])
  const all = [...points, now]
  return all.map((point, index) => presentPoint(sandbox, point, all[index - 1]))
}

/** CPU time is a counter of ours, and a share of all CPUs since the point before in E2B's form. */
function presentPoint({ cpu, memory_mb }: Sandbox, point: MetricsPoint, before: MetricsPoint | undefined) {
  const seconds = before === undefined ? 0 : (Date.parse(point.ts) - Date.parse(before.ts)) / 1000
  const used = before === undefined ? 0 : point.cpu_seconds - before.cpu_seconds
  return {
    timestamp: point.ts,
    timestampUnix: Math.floor(Date.parse(point.ts) / 1000),
    cpuCount: cpu,
    cpuUsedPct: seconds > 0 ? Math.min(Math.round((used / seconds / cpu) * 10_000) / 100, 100) : 0,
    memUsed: point.memory_guest_used_bytes ?? point.memory_host_private_bytes,
    memTotal: memory_mb * MIB,
    memCache: 0,
    diskUsed: point.disk_bytes,
    diskTotal: 0,
  }
}
