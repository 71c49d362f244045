import { randomBytes } from 'node:crypto'
import { OtlpReceiver, type ReceivedSpan } from '@offshoot/kit/test/otlp-receiver'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { hold } from './cleanup.ts'
import { type Figure, Samples } from './measure.ts'

/** Spans that take less milliseconds are not shown. */
const LEAST_MS = 0.1

/** A request, and what its client saw. */
interface Sent {
  readonly name: string
  readonly trace: string
  readonly ms: number
}

/** A span within its parents: the part of it in which they run, too. */
interface Clipped {
  readonly key: string
  readonly from: number
  readonly to: number
  readonly below: readonly Clipped[]
}

/**
 * Where the time of a request goes. Each instant belongs to one span: to one that runs and has none below it that runs;
 * of several, to the one that ends first. So commands that wait for each other have the time that each takes, and all
 * spans of a request are its whole time, with `client`, which is the client and the sockets. Making spans takes time, too.
 */
export class TracedRequests {
  readonly #receiver: OtlpReceiver
  readonly #sent: Sent[] = []
  /** Ends the receiver of the spans. */
  readonly stop: () => Promise<void>

  private constructor(receiver: OtlpReceiver) {
    this.#receiver = receiver
    this.stop = hold(() => receiver.stop())
  }

  static async start(): Promise<TracedRequests> {
    return new TracedRequests(await OtlpReceiver.start())
  }

  /** Settings of a server that sends its spans here. */
  get env(): Readonly<Record<string, string>> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.#receiver.url,
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    }
  }

  /** @returns the body of the answer and the milliseconds until it */
  async send(offshoot: Offshoot, name: string, method: string, path: string, body?: object) {
    const { result, ms } = await this.time(name, async (headers) => {
      const answer = await offshoot.request(method, `/v1${path}`, { headers, ...(body && { body }) })
      if (answer.status >= 300) throw new Error(`${name} answered ${answer.status}: ${answer.text}`)
      return answer
    })
    return { body: result.body, ms }
  }

  /** @param request sends these headers */
  async time<T>(name: string, request: (headers: { readonly traceparent: string }) => Promise<T>) {
    const trace = randomBytes(16).toString('hex')
    const traceparent = `00-${trace}-${randomBytes(8).toString('hex')}-01`
    const beganAt = performance.now()
    const result = await request({ traceparent })
    const ms = performance.now() - beganAt
    this.#sent.push({ name, trace, ms })
    return { result, ms }
  }

  /** For each name, its spans. Call it when the server has stopped: its processes export the rest at their end. */
  figures(): Record<string, Figure> {
    const times = new Map<string, Samples>()
    for (const request of this.#sent) addOwnTimes(times, request, this.#receiver.spans)
    return figuresOf(times)
  }
}

function addOwnTimes(times: Map<string, Samples>, { name, trace, ms }: Sent, received: readonly ReceivedSpan[]): void {
  const spans = received.filter((span) => span.trace === trace)
  const ids = new Set(spans.map(({ id }) => id))
  const own = new Map<string, number>()
  const clip = (span: ReceivedSpan, first: number, last: number): Clipped => {
    const from = Math.min(Math.max(span.beganAt, first), last)
    const to = Math.max(from, Math.min(span.endedAt, last))
    const below = spans.filter(({ parent }) => parent === span.id).map((child) => clip(child, from, to))
    return { key: `${span.service.replace('offshoot-', '')} ${span.name}`, from, to, below }
  }
  const roots = spans.filter(({ parent }) => !ids.has(parent)).map((span) => clip(span, -Infinity, Infinity))
  const all = withBelow(roots)
  const instants = [...new Set(all.flatMap(({ from, to }) => [from, to]))].toSorted((a, b) => a - b)
  let served = 0
  for (const [at, from] of instants.slice(0, -1).entries()) {
    const isRunning = (span: Clipped) => span.from <= from && span.to > from
    const [first] = all.filter((span) => isRunning(span) && !span.below.some(isRunning)).toSorted((a, b) => a.to - b.to)
    if (first === undefined) continue
    const length = (instants[at + 1] ?? from) - from
    own.set(first.key, (own.get(first.key) ?? 0) + length)
    served += length
  }
  own.set('client', ms - served)
  own.set('in all', ms)
  for (const [key, value] of own) {
    const samples = times.get(`${name}: ${key}`) ?? new Samples()
    times.set(`${name}: ${key}`, samples)
    samples.add(value)
  }
}

function withBelow(spans: readonly Clipped[]): Clipped[] {
  return spans.flatMap((span) => [span, ...withBelow(span.below)])
}

/** The requests in their order, and the longest spans first. */
function figuresOf(times: ReadonlyMap<string, Samples>): Record<string, Figure> {
  const shown = [...times].filter(([, { p50 }]) => p50 >= LEAST_MS)
  const names = [...new Set(shown.map(([key]) => key.split(':')[0]))]
  const order = ([key]: [string, Samples]) => names.indexOf(key.split(':')[0])
  const sorted = shown.toSorted((a, b) => order(a) - order(b) || b[1].p50 - a[1].p50)
  return Object.fromEntries(sorted.map(([key, samples]) => [key, samples.figure('ms')]))
}
