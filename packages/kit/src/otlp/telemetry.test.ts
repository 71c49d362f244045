import { pino } from 'pino'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  exportMetrics,
  isTracing,
  serveTraced,
  startClientSpan,
  startTelemetry,
  type Telemetry,
  traceHeaders,
  traceStatement,
  traceStep,
} from './telemetry.ts'
import { attributesOf, OtlpReceiver } from '../test/otlp-receiver.ts'

let receiver: OtlpReceiver
let telemetry: Telemetry | null
const variables = new Set<string>()

beforeEach(async () => {
  receiver = await OtlpReceiver.start()
  telemetry = null
})

afterEach(async () => {
  await telemetry?.stop()
  await receiver.stop()
  for (const name of variables) delete process.env[name]
  variables.clear()
})

async function start(env: Record<string, string> = {}) {
  const all = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env }
  for (const name of Object.keys(all)) variables.add(name)
  Object.assign(process.env, all)
  telemetry = await startTelemetry('service-under-test')
  return telemetry
}

/** A log as the processes make it, with the lines that it writes to standard output. */
function logOf(started: Telemetry) {
  const lines: string[] = []
  const log = pino(
    { mixin: started.logFields, redact: ['headers.authorization'] },
    started.withExport({ write: (line) => void lines.push(line) }),
  )
  started.reportTo(log)
  return { log, lines }
}

/** A span of a request with these headers, and what runs inside it. */
function serve(headers: Record<string, string>, run: () => void): void {
  const closing: (() => void)[] = []
  const response = {
    statusCode: 200,
    headersSent: true,
    once: (_event: string, close: () => void) => closing.push(close),
  }
  serveTraced({ request: { method: 'GET', headers } as never, response: response as never, requestId: 'r' }, run)
  for (const close of closing) close()
}

const warnings = (lines: string[]) => lines.filter((line) => line.includes('telemetry cannot be exported'))

describe('without a receiver', () => {
  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    [{ OTEL_SDK_DISABLED: 'true' }],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' }],
  ])('%j starts nothing', async (env) => {
    expect(await start(env)).toBeNull()
    expect(isTracing()).toBe(false)
    let headers: unknown = 'not run'
    serve({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }, () => (headers = traceHeaders()))
    expect(headers).toBeUndefined()
    expect(receiver.requests).toBe(0)
  })
})

it('exports only the signals that are asked for', async () => {
  const started = await start({ OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' })
  if (started === null) throw new Error('not started')
  logOf(started).log.info('a line')
  serve({}, () => undefined)
  exportMetrics(new Registry())
  await started.stop()
  expect(receiver.logs).toMatchObject([{ body: 'a line', trace: '' }])
  expect([receiver.spans, receiver.metrics]).toEqual([[], []])
})

it.each([
  ['always_off', '1', [], '00'],
  ['always_on', '0', ['GET'], '01'],
  ['traceidratio', '0', [], '00'],
  ['parentbased_traceidratio', '0', ['GET'], '01'],
  ['parentbased_always_off', '', ['GET'], '01'],
])('samples a trace that its caller samples as %s %s asks for', async (sampler, ratio, names, flags) => {
  const started = await start({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio })
  const trace = 'a'.repeat(32)
  let sent: string | undefined
  serve({ traceparent: `00-${trace}-${'b'.repeat(16)}-01` }, () => (sent = traceHeaders()?.['traceparent']))
  await started?.stop()
  expect(receiver.spans.map(({ name }) => name)).toEqual(names)
  expect(sent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-${flags}$`))
})

const nested = () => traceStatement('inner', failing).catch(() => 'recovered')
const failing = async () => {
  throw new RangeError('top-secret')
}

it('makes spans of steps and statements below the span that is active', async () => {
  const started = await start()
  let done: Promise<unknown> | undefined
  serve({}, () => {
    done = traceStep('outer', nested)
  })
  expect(await done).toBe('recovered')
  expect(await traceStep('outside of a request', async () => 1)).toBe(1)
  await started?.stop()
  const byName = new Map(receiver.spans.map((span) => [span.name, span]))
  expect([...byName.keys()].toSorted()).toEqual(['GET', 'inner', 'outer'])
  expect(byName.get('outer')).toMatchObject({ parent: byName.get('GET')?.id, kind: 1, isError: false })
  expect(byName.get('inner')).toMatchObject({
    parent: byName.get('outer')?.id,
    kind: 3,
    isError: true,
    attributes: { 'db.system.name': 'postgresql', 'db.query.summary': 'inner', 'error.type': 'RangeError' },
  })
  expect(JSON.stringify(receiver.spans)).not.toContain('top-secret')
})

it('exports log lines with the ids of their span, and writes them to standard output', async () => {
  const started = await start()
  if (started === null) throw new Error('not started')
  const { log, lines } = logOf(started)
  log.info({ headers: { authorization: 'Bearer top-secret' }, count: 3 }, 'outside')
  serve({}, () => log.error({ err: new TypeError('broken') }, 'inside'))
  await started.stop()
  const [outside, inside] = receiver.logs
  const [span] = receiver.spans
  expect(outside).toMatchObject({ service: 'service-under-test', body: 'outside', severity: 9, trace: '' })
  expect(outside?.attributes).toMatchObject({ count: 3 })
  expect(inside).toMatchObject({ body: 'inside', severity: 17, trace: span?.trace, span: span?.id })
  expect(inside?.attributes).toMatchObject({ 'exception.type': 'TypeError', 'exception.message': 'broken' })
  expect(JSON.stringify(receiver.logs)).not.toContain('top-secret')
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ msg: 'inside', trace_id: span?.trace, span_id: span?.id })
})

it('exports the metrics of a Prometheus registry', async () => {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: 'made_total', help: 'Made', registers }).inc(3)
  new Gauge({ name: 'here', help: 'Here', labelNames: ['status'], registers }).set({ status: 'running' }, 2)
  const durations = new Histogram({ name: 'seconds', help: 'S', labelNames: ['route'], buckets: [0.1, 1], registers })
  for (const seconds of [0.05, 0.5, 0.6, 5]) durations.observe({ route: '/a' }, seconds)
  durations.observe({ route: '/b' }, 0.01)
  const started = await start()
  exportMetrics(registry)
  await started?.stop()
  // oxlint-disable-next-line typescript/no-explicit-any
  const found: any = Object.fromEntries(receiver.metrics.map((metric) => [metric.name, metric]))
  expect(found['made_total']).toMatchObject({
    service: 'service-under-test',
    description: 'Made',
    sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [{ asDouble: 3 }] },
  })
  const [running] = found['here'].gauge.dataPoints
  expect([running.asDouble, attributesOf(running.attributes)]).toEqual([2, { status: 'running' }])
  const points = found['seconds'].histogram.dataPoints
  expect(points).toMatchObject([
    { count: 4, sum: 6.15, bucketCounts: [1, 2, 1], explicitBounds: [0.1, 1] },
    { count: 1, sum: 0.01, bucketCounts: [1, 0, 0], explicitBounds: [0.1, 1] },
  ])
  expect(attributesOf(points[0].attributes)).toEqual({ route: '/a' })
})

describe('a receiver', () => {
  const fast = { OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_BLRP_SCHEDULE_DELAY: '1' }

  it.each([
    [
      'that is unreachable',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_TIMEOUT: '200' },
      200,
    ],
    ['that refuses', {}, 400],
    ['that fails', { OTEL_EXPORTER_OTLP_TIMEOUT: '200' }, 503],
    ['that never answers', { OTEL_EXPORTER_OTLP_TIMEOUT: '100' }, null],
    [
      'whose address is malformed',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'no address', OTEL_EXPORTER_OTLP_TIMEOUT: '200' },
      200,
    ],
  ])('%s is reported once', async (_what, env, answer) => {
    receiver.answer = answer
    const started = await start({ ...fast, ...env })
    if (started === null) throw new Error('not started')
    const { log, lines } = logOf(started)
    exportMetrics(new Registry())
    for (let n = 0; n < 3; n++) {
      serve({}, () => log.info('a line'))
      await expect.poll(() => warnings(lines).length, { timeout: 20_000 }).toBe(1)
    }
    await started.stop()
    expect(warnings(lines)).toHaveLength(1)
    expect(lines.filter((line) => line.includes('a line'))).toHaveLength(3)
  })

  it('that never answers does not make the queues grow or the end wait', { tags: ['faults'] }, async () => {
    receiver.answer = null
    const started = await start(fast)
    if (started === null) throw new Error('not started')
    const { log } = logOf(started)
    serve({}, () => {
      for (let n = 0; n < 10_000; n++) {
        startClientSpan('GET', { 'server.address': 'a', 'server.port': 1 })?.end()
        log.info({ n }, 'a line')
      }
    })
    await started.stop()
    // Each queue holds 2048, in batches of 512; one batch may be on its way.
    expect(receiver.requests).toBeLessThanOrEqual(2 * 5)
  })
})
