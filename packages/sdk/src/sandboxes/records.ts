import type { Event, LogLine, SandboxMetrics } from '../generated/models.ts'
import { MissingDataError } from '../http/errors.ts'
import { follow } from '../http/follow.ts'
import { fromWire } from '../http/rename.ts'
import type { Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'

type ReadOptions = Omit<CallOptions, 'idempotencyKey'>

/** An event with its number, which `since` takes. */
export type NumberedEvent = Event & { readonly number: number }

/** What to do about entries that the service dropped before they were read. Numbers count from 1. */
export interface GapOptions {
  /** Called instead of throwing {@link MissingDataError}: `from` is the first lost number, `to` the first one after them. */
  readonly onGap?: ((gap: { readonly from: number; readonly to: number }) => void) | undefined
}

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

/** Finds missing numbers, after a first one that is known. */
class Numbers {
  readonly #what: string
  readonly #onGap: GapOptions['onGap']
  #last: number

  constructor(what: string, last: number, onGap: GapOptions['onGap']) {
    this.#what = what
    this.#last = last
    this.#onGap = onGap
  }

  /** The last number that is not wanted. */
  begin(number: number): void {
    this.#last = number
  }

  take(number: number): void {
    const from = this.#last + 1
    const isGap = this.#last > 0 && number > from
    this.#last = number
    if (!isGap) return
    if (this.#onGap === undefined) throw new MissingDataError(this.#what, from, number)
    this.#onGap({ from, to: number })
  }
}

/**
 * Yields the events of a sandbox, then new ones as they happen, until the sandbox is deleted. A broken connection is
 * continued without a gap or a repetition.
 * @throws MissingDataError if the service has dropped events in between, unless `onGap` is given
 */
export async function* followEvents(
  scope: Scope,
  options: EventsOptions & GapOptions,
): AsyncGenerator<NumberedEvent, void, undefined> {
  const { since, tail, onGap, ...call } = options
  const numbers = new Numbers('events', typeof since === 'number' && tail === undefined ? since : 0, onGap)
  // A stream that has sent nothing has no position to continue from. Every sandbox has an event, and the last one tells it.
  let isPast = tail === 0 && since === undefined
  const query = { since, tail: isPast ? 1 : tail, follow: true }
  const request = scope.request('GET /v1/sandboxes/{id}/events', { ...call, query })
  for (let after: string | null = null; ;) {
    let hasMissed = false
    for await (const { data, id } of follow(scope.transport, request, { isLast: () => hasMissed, after })) {
      const event = fromWire<Event>(JSON.parse(data))
      // The reader fell behind what the service has in memory. The next connection reads the rest from its disk.
      hasMissed = event.type === 'events.dropped'
      if (hasMissed) continue
      after = id
      numbers.take(Number(id))
      if (!isPast) yield { ...event, number: Number(id) }
      isPast = false
    }
    if (!hasMissed) return
  }
}

/** The log of a sandbox, or of the sandbox of a database. */
type LogsRoute = 'GET /v1/sandboxes/{id}/logs' | 'GET /v1/databases/{id}/logs'

/** Yields the lines of the log, then new ones, until the sandbox is deleted. Continues like {@link followEvents}. */
export async function* followLogs(
  scope: Scope,
  options: LogsOptions & GapOptions,
  route: LogsRoute = 'GET /v1/sandboxes/{id}/logs',
): AsyncGenerator<LogLine, void, undefined> {
  const { stream, tail, onGap, ...call } = options
  const numbers = new Numbers('lines', 0, onGap)
  const request = scope.request(route, { ...call, query: { stream, tail, follow: true } })
  // Without a tail of 0 the first line may have any number.
  const onPosition = (position: string) => tail === 0 && numbers.begin(Number(position))
  for await (const { data, id } of follow(scope.transport, request, { isLast: () => false, onPosition })) {
    // Both streams share the numbers, so those of one stream are not consecutive.
    if (stream === undefined || stream === 'both') numbers.take(Number(id))
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
