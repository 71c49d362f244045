import { randomBytes } from 'node:crypto'
import { OtlpReceiver, type ReceivedSpan } from '@offshoot/kit/test/otlp-receiver'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { hold } from './cleanup.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const ROUNDS = 30
/** Of each kind in the life of a sandbox. */
const SHORT_REQUESTS = 5
const TEMPLATE = 'base'
const DATABASE_TEMPLATE = 'postgres-16'
/** Spans that take less milliseconds are not shown. */
const LEAST_MS = 0.1

/** A request, and what its client saw. */
interface Sent {
  readonly name: string
  readonly trace: string
  readonly ms: number
}

interface Interval {
  readonly from: number
  readonly to: number
}

/**
 * Where the time of a request goes: the time of each span in which none of the spans below it ran, and `client`, which
 * is the time that the client and the sockets take. Making spans takes time, too. `traces` is all requests of one
 * sandbox.
 */
export async function traces(): Promise<Record<string, Figure>> {
  const receiver = await OtlpReceiver.start()
  const stop = hold(() => receiver.stop())
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' }
  const offshoot = await Offshoot.startFirst('traces', { templates: [TEMPLATE, DATABASE_TEMPLATE], env })
  const destroy = hold(() => offshoot.destroy())
  const sent: Sent[] = []
  const lives = new Samples()
  for (const _round of rounds(ROUNDS, 40_000)) {
    const requests = await requestsOfALife(offshoot)
    sent.push(...requests)
    lives.add(requests.reduce((sum, { ms }) => sum + ms, 0))
  }
  // The processes export what they still have.
  await offshoot.stop()
  const times = new Map<string, Samples>()
  for (const request of sent) addSelfTimes(times, request, receiver.spans)
  await destroy()
  await stop()
  return { traces: lives.figure('ms'), ...figuresOf(times) }
}

async function requestsOfALife(offshoot: Offshoot): Promise<Sent[]> {
  const sent: Sent[] = []
  const send = async (name: string, method: string, path: string, body?: object) => {
    const trace = randomBytes(16).toString('hex')
    const headers = { traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01` }
    const beganAt = performance.now()
    const answer = await offshoot.request(method, `/v1${path}`, { headers, ...(body && { body }) })
    if (answer.status >= 300) throw new Error(`${name} answered ${answer.status}: ${answer.text}`)
    sent.push({ name, trace, ms: performance.now() - beganAt })
    return answer.body
  }
  const { id } = await send('create', 'POST', '/sandboxes', { template: TEMPLATE })
  await send('first exec', 'POST', `/sandboxes/${id}/exec`, { cmd: 'true' })
  for (let i = 0; i < SHORT_REQUESTS; i++) {
    await send('exec', 'POST', `/sandboxes/${id}/exec`, { cmd: 'true' })
    await send('pause', 'POST', `/sandboxes/${id}/pause`)
    await send('resume', 'POST', `/sandboxes/${id}/resume`)
  }
  const child = await send('fork', 'POST', `/sandboxes/${id}/fork`, {})
  await send('first exec of a fork', 'POST', `/sandboxes/${child.id}/exec`, { cmd: 'true' })
  const tree = await send('fork tree of 16', 'POST', `/sandboxes/${id}/fork-tree`, { count: 16 })
  await send('hibernate', 'POST', `/sandboxes/${id}/hibernate`)
  await send('wake', 'POST', `/sandboxes/${id}/wake`)
  await Promise.all([child, ...tree.children].map((each: { readonly id: string }) => offshoot.delete(each.id)))
  await send('delete', 'DELETE', `/sandboxes/${id}`)
  const database = await send('database', 'POST', '/databases', {})
  await offshoot.request('POST', `/v1/sandboxes/${database.id}/hibernate`)
  await send('wake of a database', 'POST', `/sandboxes/${database.id}/wake`)
  const branch = await send('branch', 'POST', `/databases/${database.id}/branch`, {})
  for (const each of [branch, database]) await offshoot.request('DELETE', `/v1/databases/${each.id}`)
  return sent
}

function addSelfTimes(times: Map<string, Samples>, { name, trace, ms }: Sent, received: readonly ReceivedSpan[]): void {
  const spans = received.filter((span) => span.trace === trace)
  const ids = new Set(spans.map(({ id }) => id))
  const own = new Map<string, number>()
  const visit = (span: ReceivedSpan, within: Interval): Interval => {
    const interval = clipped({ from: span.beganAt, to: span.endedAt }, within)
    const below = spans.filter(({ parent }) => parent === span.id).map((child) => visit(child, interval))
    const key = `${span.service.replace('offshoot-', '')} ${span.name}`
    own.set(key, (own.get(key) ?? 0) + lengthOf([interval]) - lengthOf(below))
    return interval
  }
  const everything = { from: -Infinity, to: Infinity }
  const served = spans.filter(({ parent }) => !ids.has(parent)).map((root) => visit(root, everything))
  own.set('client', ms - lengthOf(served))
  own.set('in all', ms)
  for (const [key, value] of own) {
    const samples = times.get(`${name}: ${key}`) ?? new Samples()
    times.set(`${name}: ${key}`, samples)
    samples.add(value)
  }
}

/** A span may outlive the one above it, for example if it ends after the answer. */
function clipped({ from, to }: Interval, within: Interval): Interval {
  const begin = Math.min(Math.max(from, within.from), within.to)
  return { from: begin, to: Math.max(begin, Math.min(to, within.to)) }
}

/** The milliseconds that at least one of these intervals has. */
function lengthOf(intervals: readonly Interval[]): number {
  let [length, end] = [0, -Infinity]
  for (const { from, to } of intervals.toSorted((a, b) => a.from - b.from)) {
    length += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return length
}

/** The requests in their order, and the longest spans first. */
function figuresOf(times: ReadonlyMap<string, Samples>): Record<string, Figure> {
  const shown = [...times].filter(([, { p50 }]) => p50 >= LEAST_MS)
  const names = [...new Set(shown.map(([key]) => key.split(':')[0]))]
  const order = ([key]: [string, Samples]) => names.indexOf(key.split(':')[0])
  const sorted = shown.toSorted((a, b) => order(a) - order(b) || b[1].p50 - a[1].p50)
  return Object.fromEntries(sorted.map(([key, samples]) => [key, samples.figure('ms')]))
}
