// Decoded messages have the fields of PROTOCOL, and tests know which shape they expect.
// oxlint-disable typescript/no-explicit-any
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import protobuf from 'protobufjs'

/** The fields of opentelemetry-proto 1.x that tests read. */
const PROTOCOL = `
syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Status { int32 code = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; Status status = 15;
}
message ScopeSpans { repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Traces { repeated ResourceSpans resource_spans = 1; }
message NumberPoint { repeated KeyValue attributes = 7; double as_double = 4; }
message HistogramPoint {
  repeated KeyValue attributes = 9; fixed64 count = 4; double sum = 5; repeated fixed64 bucket_counts = 6;
  repeated double explicit_bounds = 7;
}
message Gauge { repeated NumberPoint data_points = 1; }
message Sum { repeated NumberPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramPoint data_points = 1; int32 aggregation_temporality = 2; }
message Metric { string name = 1; string description = 2; Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
message ScopeMetrics { repeated Metric metrics = 2; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Metrics { repeated ResourceMetrics resource_metrics = 1; }
message LogRecord {
  int32 severity_number = 2; AnyValue body = 5; repeated KeyValue attributes = 6; bytes trace_id = 9; bytes span_id = 10;
}
message ScopeLogs { repeated LogRecord log_records = 2; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message Logs { repeated ResourceLogs resource_logs = 1; }
`

const { root } = protobuf.parse(PROTOCOL)

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

export interface ReceivedSpan {
  readonly service: string
  readonly trace: string
  readonly id: string
  /** Empty for the root of a trace. */
  readonly parent: string
  readonly name: string
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number
  /** Milliseconds since 1970. */
  readonly beganAt: number
  readonly endedAt: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly isError: boolean
}

export interface ReceivedLog {
  readonly service: string
  readonly trace: string
  readonly span: string
  readonly severity: number
  readonly body: unknown
  readonly attributes: Readonly<Record<string, unknown>>
}

/** One metric as protobuf's JSON. */
export interface ReceivedMetric {
  readonly service: string
  readonly name: string
  readonly [field: string]: any
}

/** A receiver of OTLP over HTTP with protobuf. It keeps everything that it receives. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = []
  readonly logs: ReceivedLog[] = []
  readonly metrics: ReceivedMetric[] = []
  /** Status of every answer; `null`: no answer at all. */
  answer: number | null = 200
  requests = 0
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => void this.#receive(request, response))
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver()
    await new Promise<void>((resolve) => void receiver.#server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    this.requests += 1
    if (this.answer === 200) this.#keep(request.url ?? '', body)
    if (this.answer !== null) response.writeHead(this.answer, { 'content-type': 'application/x-protobuf' }).end()
  }

  #keep(path: string, body: Buffer): void {
    if (path === '/v1/traces') this.spans.push(...readSpans(body))
    else if (path === '/v1/logs') this.logs.push(...readLogs(body))
    else if (path === '/v1/metrics') this.metrics.push(...readMetrics(body))
    else throw new Error(`no OTLP path: ${path}`)
  }
}

function decode(type: string, body: Buffer): any {
  const message = root.lookupType(type)
  return message.toObject(message.decode(body), { longs: Number, defaults: true, arrays: true })
}

function readSpans(body: Buffer): ReceivedSpan[] {
  return decode('Traces', body).resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    scopeSpans.flatMap(({ spans }: any) =>
      spans.map((span: any) => ({
        service: serviceOf(resource),
        trace: hex(span.traceId),
        id: hex(span.spanId),
        parent: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        beganAt: span.startTimeUnixNano / 1e6,
        endedAt: span.endTimeUnixNano / 1e6,
        attributes: attributesOf(span.attributes),
        isError: span.status?.code === 2,
      })),
    ),
  )
}

function readLogs(body: Buffer): ReceivedLog[] {
  return decode('Logs', body).resourceLogs.flatMap(({ resource, scopeLogs }: any) =>
    scopeLogs.flatMap(({ logRecords }: any) =>
      logRecords.map((record: any) => ({
        service: serviceOf(resource),
        trace: hex(record.traceId),
        span: hex(record.spanId),
        severity: record.severityNumber,
        body: valueOf(record.body),
        attributes: attributesOf(record.attributes),
      })),
    ),
  )
}

function readMetrics(body: Buffer): ReceivedMetric[] {
  return decode('Metrics', body).resourceMetrics.flatMap(({ resource, scopeMetrics }: any) =>
    scopeMetrics.flatMap(({ metrics }: any) => metrics.map((each: any) => ({ service: serviceOf(resource), ...each }))),
  )
}

const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex')

function serviceOf(resource: { attributes: readonly KeyValue[] }): string {
  return String(attributesOf(resource.attributes)['service.name'])
}

export function attributesOf(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))
}

function valueOf(value: Readonly<Record<string, unknown>> | null): unknown {
  return Object.values(value ?? {})[0]
}
