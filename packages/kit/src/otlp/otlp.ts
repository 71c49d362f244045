import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { detectResources, resourceAttributesEnvDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { upgradeOf } from '../http-upgrades.ts'
import { ExportFailures } from './export-failures.ts'
import { logRecord } from './log-record.ts'
import { type MetricSource, prometheusMetrics } from './prometheus-metrics.ts'
import { samplerFromEnvironment } from './sampler.ts'

const SCOPE = 'offshoot'
/** Milliseconds that the last exports may take at shutdown. */
const FLUSH_MS = 2_000
/** Milliseconds between two exports of metrics. */
const METRICS_EVERY_MS = 60_000
/** Milliseconds from a finished span or a log line to its export. */
const BATCH_DELAY_MS = 1_000
/** Characters of one attribute. A log line may contain a long stack. */
const MAX_ATTRIBUTE_CHARS = 8_192
/** Methods of RFC 9110 and RFC 5789. A caller may send any other token, and span names must be few. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])

/** As in the names of the environment variables. */
export type Signal = 'TRACES' | 'METRICS' | 'LOGS'

/** A server that a process calls, by OpenTelemetry's names of attributes. */
export interface ServerAttributes {
  readonly 'server.address': string
  readonly 'server.port': number
}

/** A request that a server has just received. */
export interface ServedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** The route's template. Absent if the server knows none. */
  readonly route?: string | undefined
  /** The path without its query. Absent if it may contain a credential. */
  readonly path?: string | undefined
}

/** One step of a request. */
export interface TraceSpan {
  /** Headers that make the called server continue the trace. */
  readonly headers: Readonly<Record<string, string>>
  /** The status that an HTTP server answered with. */
  answered(status: number): void
  fail(error: unknown): void
  end(): void
}

/**
 * The OpenTelemetry SDK. Every queue is bounded: the processors drop spans and lines that a slow receiver does not
 * take.
 */
export class Otlp {
  readonly failures = new ExportFailures()
  readonly isTracing: boolean
  readonly #isExportingMetrics: boolean
  readonly #resource
  readonly #tracer: Tracer
  readonly #traces: TracerProvider
  readonly #logs: LoggerProvider
  readonly #isExportingLogs: boolean
  readonly #meters: MeterProvider[] = []
  readonly #metricsEveryMs: number
  readonly #propagator = new W3CTraceContextPropagator()
  readonly #active = new AsyncLocalStorage<Context>()
  #stopped: Promise<void> | undefined
  readonly #served = new WeakMap<object, Context>()

  constructor(serviceName: string, signals: ReadonlySet<Signal>) {
    setGlobalErrorHandler((error) => this.failures.add(error))
    this.isTracing = signals.has('TRACES')
    this.#isExportingMetrics = signals.has('METRICS')
    this.#isExportingLogs = signals.has('LOGS')
    this.#metricsEveryMs = milliseconds('OTEL_METRIC_EXPORT_INTERVAL', METRICS_EVERY_MS)
    // OTEL_SERVICE_NAME does not apply: `bin/up` passes one environment to all services.
    this.#resource = detectResources({ detectors: [resourceAttributesEnvDetector] }).merge(
      resourceFromAttributes({ 'service.name': serviceName, 'process.pid': process.pid }),
    )
    this.#traces = new TracerProvider({
      resource: this.#resource,
      sampler: samplerFromEnvironment(),
      spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
      spanProcessors: this.isTracing
        ? [
            new BatchSpanProcessor({
              exporter: new OTLPTraceExporter(),
              scheduledDelayMillis: milliseconds('OTEL_BSP_SCHEDULE_DELAY', BATCH_DELAY_MS),
            }),
          ]
        : [],
    })
    this.#tracer = this.#traces.getTracer(SCOPE)
    this.#logs = new LoggerProvider({
      resource: this.#resource,
      logRecordLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
      processors: this.#isExportingLogs
        ? [
            new BatchLogRecordProcessor({
              exporter: new OTLPLogExporter(),
              scheduledDelayMillis: milliseconds('OTEL_BLRP_SCHEDULE_DELAY', BATCH_DELAY_MS),
            }),
          ]
        : [],
    })
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(timeout.resolve, FLUSH_MS)
    const providers = [this.#traces, this.#logs, ...this.#meters]
    await Promise.race([Promise.allSettled(providers.map((provider) => provider.shutdown())), timeout.promise])
    clearTimeout(timer)
  }

  exportMetrics(source: MetricSource): void {
    if (!this.#isExportingMetrics) return
    const reader = new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(),
      exportIntervalMillis: this.#metricsEveryMs,
      metricProducers: [prometheusMetrics(source, SCOPE)],
    })
    this.#meters.push(new MeterProvider({ resource: this.#resource, readers: [reader] }))
  }

  withExport(destination: { write(line: string): unknown }) {
    if (!this.#isExportingLogs) return { write: (line: string) => void destination.write(line) }
    const logger = this.#logs.getLogger(SCOPE)
    return {
      write: (line: string) => {
        destination.write(line)
        const record = logRecord(line)
        if (record !== null) logger.emit({ ...record, context: this.#active.getStore() ?? ROOT_CONTEXT })
      },
    }
  }

  logFields(): Record<string, string> {
    const context = this.#active.getStore()
    const ids = context === undefined ? undefined : trace.getSpanContext(context)
    return ids === undefined ? {} : { trace_id: ids.traceId, span_id: ids.spanId }
  }

  serve(served: ServedRequest, serve: () => void): void {
    if (!this.isTracing) {
      serve()
      return
    }
    const { request, response, requestId, route, path } = served
    const isUpgrade = upgradeOf(request) !== undefined
    const method = METHODS.has(request.method ?? '') ? String(request.method) : '_OTHER'
    // The propagator ignores a malformed `traceparent`, and this request then begins a trace.
    const parent = this.#propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter)
    const attributes: Attributes = {
      'http.request.method': method,
      'offshoot.request_id': requestId,
      ...(route !== undefined && { 'http.route': route }),
      ...(path !== undefined && { 'url.path': path }),
    }
    const verb = method === '_OTHER' ? 'HTTP' : method
    const name = route === undefined ? verb : `${verb} ${route}`
    const span = this.#tracer.startSpan(name, { attributes, kind: SpanKind.SERVER }, parent)
    let isOver = false
    const end = () => {
      if (isOver) return
      isOver = true
      // An accepted upgrade sends its 101 past the response.
      if (response.headersSent || isUpgrade) setStatus(span, response.headersSent ? response.statusCode : 101, 500)
      else setError(span, 'aborted')
      span.end()
    }
    response.once('close', end)
    if (isUpgrade) request.socket.once('close', end)
    const context = trace.setSpan(parent, span)
    this.#served.set(request, context)
    this.#active.run(context, serve)
  }

  /** Makes the span of this request active again. */
  resume(request: object, run: () => void): void {
    const context = this.#served.get(request)
    if (context === undefined) run()
    else this.#active.run(context, run)
  }

  startClientSpan(method: string, server: ServerAttributes): TraceSpan | undefined {
    return this.#start(method, SpanKind.CLIENT, { 'http.request.method': method, ...server })
  }

  startGuestSpan(operation: string): TraceSpan | undefined {
    return this.#start(`guest ${operation}`, SpanKind.CLIENT, {})
  }

  step<T>(name: string, step: () => Promise<T>): Promise<T> {
    return this.#within(name, { kind: SpanKind.INTERNAL }, step)
  }

  guest<T>(operation: string, ask: () => Promise<T>): Promise<T> {
    return this.#within(`guest ${operation}`, { kind: SpanKind.CLIENT }, ask)
  }

  statement<T>(name: string, query: () => Promise<T>): Promise<T> {
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name }
    return this.#within(name, { kind: SpanKind.CLIENT, attributes }, query)
  }

  async #within<T>(name: string, options: SpanOptions, run: () => Promise<T>): Promise<T> {
    const parent = this.#active.getStore()
    if (parent === undefined) return run()
    const span = this.#tracer.startSpan(name, options, parent)
    try {
      return await this.#active.run(trace.setSpan(parent, span), run)
    } catch (error) {
      setError(span, nameOf(error))
      throw error
    } finally {
      span.end()
    }
  }

  activeHeaders(): Record<string, string> | undefined {
    const context = this.#active.getStore()
    return context === undefined ? undefined : this.#headersOf(context)
  }

  #headersOf(context: Context): Record<string, string> {
    const headers: Record<string, string> = {}
    this.#propagator.inject(context, headers, defaultTextMapSetter)
    return headers
  }

  #start(name: string, kind: SpanKind, attributes: Attributes): TraceSpan | undefined {
    const parent = this.#active.getStore()
    if (parent === undefined) return undefined
    const span = this.#tracer.startSpan(name, { attributes, kind }, parent)
    return {
      headers: this.#headersOf(trace.setSpan(parent, span)),
      answered: (status) => setStatus(span, status, 400),
      fail: (error) => setError(span, nameOf(error)),
      end: () => span.end(),
    }
  }
}

/** A standard variable that the SDK does not read itself. */
function milliseconds(variable: string, byDefault: number): number {
  const value = Number(process.env[variable])
  return value > 0 ? value : byDefault
}

/** OpenTelemetry's convention: a server has failed from 500 on, a client from 400 on. */
function setStatus(span: Span, status: number, failsFrom: number): void {
  span.setAttribute('http.response.status_code', status)
  if (status >= failsFrom) setError(span, String(status))
}

/** Not the message, which may contain data of a tenant. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown')

function setError(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
