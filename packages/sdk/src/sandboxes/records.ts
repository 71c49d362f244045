import type { Event, LogLine, SandboxMetrics } from '../generated/models.ts'
import { follow } from '../http/follow.ts'
import { fromWire } from '../http/rename.ts'
import type { Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'

type ReadOptions = Omit<CallOptions, 'idempotencyKey'>

/** An event with its number, which `since` takes. */
export type NumberedEvent = Event & { readonly number: number }

export interface EventsOptions extends ReadOptions {
  /** Events after this number or RFC 3339 time. */
  readonly since?: number | string | undefined
  /** Only so many of the latest events at the beginning. */
  readonly tail?: number | undefined
}

export interface LogsOptions extends ReadOptions {
  /** Default: `both`. */
  readonly stream?: 'stdout' | 'stderr' | 'both' | undefined
  /** Only so many of the latest lines at the beginning. */
  readonly tail?: number | undefined
}

export interface MetricsOptions extends ReadOptions {
  /** RFC 3339, within the last hour, which is the default. */
  readonly since?: string | undefined
  /** Seconds between two points, 10 to 3600. Default: 60. */
  readonly step?: number | undefined
}

/**
 * Yields the events of a sandbox, then new ones as they happen, until the sandbox is deleted. A broken connection is
 * continued without a gap or a repetition.
 */
export async function* followEvents(
  scope: Scope,
  options: EventsOptions,
): AsyncGenerator<NumberedEvent, void, undefined> {
  const { since, tail, ...call } = options
  const request = scope.request('GET /v1/sandboxes/{id}/events', { ...call, query: { since, tail, follow: true } })
  for (let after: string | null = null; ;) {
    let hasMissed = false
    for await (const { data, id } of follow(scope.transport, request, { isLast: () => hasMissed, after })) {
      const event = fromWire<Event>(JSON.parse(data))
      // The reader fell behind what the service has in memory. The next connection reads the rest from its disk.
      hasMissed = event.type === 'events.dropped'
      if (hasMissed) continue
      after = id
      yield { ...event, number: Number(id) }
    }
    if (!hasMissed) return
  }
}

/** The log of a sandbox, or of the sandbox of a database. */
type LogsRoute = 'GET /v1/sandboxes/{id}/logs' | 'GET /v1/databases/{id}/logs'

/** Yields the lines of the log, then new ones, until the sandbox is deleted. Continues like {@link followEvents}. */
export async function* followLogs(
  scope: Scope,
  options: LogsOptions,
  route: LogsRoute = 'GET /v1/sandboxes/{id}/logs',
): AsyncGenerator<LogLine, void, undefined> {
  const { stream, tail, ...call } = options
  const request = scope.request(route, { ...call, query: { stream, tail, follow: true } })
  for await (const { data } of follow(scope.transport, request, { isLast: () => false })) {
    yield fromWire<LogLine>(JSON.parse(data))
  }
}

/** The kept lines of the log. */
export async function readLogs(
  scope: Scope,
  { stream, tail, ...call }: LogsOptions,
  route: LogsRoute = 'GET /v1/sandboxes/{id}/logs',
): Promise<LogLine[]> {
  return scope.call(route, {
    ...call,
    query: { stream, tail },
    headers: { accept: 'application/json' },
  })
}

/** The latest events. */
export async function readEvents(scope: Scope, options: EventsOptions): Promise<Event[]> {
  return scope.get('GET /v1/sandboxes/{id}/events', options)
}

/** What the sandbox uses. */
export async function readMetrics(scope: Scope, options: MetricsOptions): Promise<SandboxMetrics> {
  return scope.get('GET /v1/sandboxes/{id}/metrics', options)
}
