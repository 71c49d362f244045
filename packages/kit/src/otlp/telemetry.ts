/**
 * Traces, metrics and logs over OTLP (docs/telemetry.md). The SDK is loaded only if the environment names a receiver.
 * Without one, every function of this file returns after one check.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MetricSource } from './prometheus-metrics.ts'
import type { Otlp, ServedRequest, ServerAttributes, Signal, TraceSpan } from './otlp.ts'

const SIGNALS: readonly Signal[] = ['TRACES', 'METRICS', 'LOGS']

/** The part of a log that this file uses. */
interface WarningLog {
  warn(fields: object, message: string): void
}

/** What a process does with its telemetry while it runs. */
export interface Telemetry {
  /** Ids of the active span, which the log adds to each line. The caller may change the object. */
  readonly logFields: () => Record<string, string>
  /** A destination of log lines that writes to `destination` and exports each line. */
  withExport(destination: { write(line: string): unknown }): { write(line: string): void }
  /** Says at most once a minute in this log that an export failed. */
  reportTo(log: WarningLog): void
  /** Exports what is left, for at most two seconds. Never rejects. */
  stop(): Promise<void>
}

let running: Otlp | undefined

/**
 * Starts the export that the standard environment variables ask for; `null` if they name no receiver. Call it before
 * the process makes its server.
 */
export async function startTelemetry(serviceName: string): Promise<Telemetry | null> {
  const { env } = process
  const signals = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' ? [] : SIGNALS.filter((each) => isWanted(each))
  if (signals.length === 0) return null
  const { Otlp } = await import('./otlp.ts')
  const started = new Otlp(serviceName, new Set(signals))
  running = started
  return {
    logFields: () => started.logFields(),
    withExport: (destination) => started.withExport(destination),
    reportTo: (log) => started.failures.reportTo(log),
    stop: () => {
      running = undefined
      return started.stop()
    },
  }
}

function isWanted(signal: Signal): boolean {
  const { env } = process
  const endpoint = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] || env['OTEL_EXPORTER_OTLP_ENDPOINT']
  const exporter = env[`OTEL_${signal}_EXPORTER`] || 'otlp'
  return Boolean(endpoint) && exporter.toLowerCase() === 'otlp'
}

/** Exports the metrics of this Prometheus registry as well. */
export function exportMetrics(registry: MetricSource): void {
  running?.exportMetrics(registry)
}

export function serverAttributes(url: string): ServerAttributes {
  const { hostname, port, protocol } = new URL(url)
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) }
}

/**
 * Begins a span of kind CLIENT below the active one; `undefined` outside of a traced request, so that background work
 * makes no spans. The caller sends the span's `headers` and ends it.
 */
export function startClientSpan(method: string, server: ServerAttributes): TraceSpan | undefined {
  return running?.startClientSpan(method, server)
}

/** Begins a span for a command in a guest, which may last longer than the request. As {@link startClientSpan}. */
export function startGuestSpan(operation: string): TraceSpan | undefined {
  return running?.startGuestSpan(operation)
}

/**
 * Runs a step of the active request inside a span of its own, below which the step's own calls appear. Outside of a
 * traced request, it only runs the step.
 */
export function traceStep<T>(name: string, step: () => Promise<T>): Promise<T> {
  return running === undefined ? step() : running.step(name, step)
}

/** The same for a request to a guest. */
export function traceGuest<T>(operation: string, ask: () => Promise<T>): Promise<T> {
  return running === undefined ? ask() : running.guest(operation, ask)
}

/** The same for a statement of this name. */
export function traceStatement<T>(name: string, query: () => Promise<T>): Promise<T> {
  return running === undefined ? query() : running.statement(name, query)
}

/** Headers that make a server continue the active trace; `undefined` outside of a traced request. */
export function traceHeaders(): Readonly<Record<string, string>> | undefined {
  return running?.activeHeaders()
}

/** Runs `serve` inside the span of this request. The span ends when the answer has been sent or the connection closes. */
export function serveTraced(served: ServedRequest, serve: () => void): void {
  if (running === undefined) serve()
  else running.serve(served, serve)
}

export function isTracing(): boolean {
  return running?.isTracing === true
}

/** The part of a Fastify request that the hooks use. */
interface HookedRequest {
  readonly raw: IncomingMessage
  readonly id: string
  readonly routeOptions: { readonly url?: string | undefined }
}

type Hook = (request: HookedRequest, reply: { readonly raw: ServerResponse }, done: () => void) => void

interface HookedServer {
  addHook(name: 'onRequest' | 'preValidation' | 'onResponse', hook: Hook): unknown
}

/**
 * Makes a span of every request of a Fastify server. Adds no hook if traces are not exported.
 *
 * @param pathOf takes the server's kind of request, and returns its path as it may be shown
 */
export function traceRequests(server: HookedServer, pathOf: (request: never) => string): void {
  if (!isTracing()) return
  server.addHook('onRequest', (request, reply, done) => {
    const { raw, id: requestId, routeOptions } = request
    const route = routeOptions.url
    // A path without a route may be a mistyped address that contains a credential.
    const path = route === undefined ? undefined : pathOf(request as never)
    serveTraced({ request: raw, response: reply.raw, requestId, route, path }, done)
  })
  // The events of the socket that precede these hooks lose the context.
  server.addHook('preValidation', resume)
  server.addHook('onResponse', resume)
}

function resume({ raw }: HookedRequest, _reply: unknown, done: () => void): void {
  if (running === undefined) done()
  else running.resume(raw, done)
}
