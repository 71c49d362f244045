import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createDatabase } from '../tests/setup/database.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import type { FloodKind, Target } from './flood.ts'
import { hold } from './cleanup.ts'
import { newWorkspaceKey } from './limits-benches.ts'
import { type Figure, Samples } from './measure.ts'

const FLOODS: readonly FloodKind[] = ['queries', 'execs', 'bodies', 'lists', 'streams']
/** The quiet tenant's requests, and how many of each it sends in a second. */
const PACE = { lists: 50, events: 20, usage: 20 } as const
/** Milliseconds alone, and then beside each flood. Then a p99 is decided by 3 to 8 requests. */
const WINDOW_MS = Math.min(15_000, Number(process.env['OFFSHOOT_BENCH_ROUNDS_MS'] ?? Number.POSITIVE_INFINITY))
const SETTLE_MS = 2_000
const ANSWER_MS = 10_000
/** The lowest priority: the flood's own CPU time should not slow the quiet tenant's requests. */
const NICE = 19
const SANDBOXES = 3

type Kind = keyof typeof PACE
type Measured = Record<Kind, Samples>
const KINDS = Object.keys(PACE) as Kind[]

/**
 * A tenant sends requests at a steady pace, by turns alone and beside a flood of another tenant. The floor is its p99
 * alone. It is of all turns together, because the p99 of one turn is decided by a few requests. The ratio compares the
 * two p99. The figures are those of the worst flood.
 */
export async function noisyNeighbour(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const { base_url: url, api_key: key } = offshoot.credentials
  const quiet = await quietTenant(offshoot)
  const { id: sandboxId } = await offshoot.create()
  const { id: databaseId, broker_url: brokerUrl, broker_token: brokerToken } = await createDatabase(offshoot)
  const target = { url, key, sandboxId, brokerUrl, brokerToken }
  const alone = noSamples()
  const besides: [FloodKind, Measured][] = []
  try {
    for (const flood of FLOODS) {
      // The end of the flood before still costs CPU time.
      await quiet.measure(SETTLE_MS, noSamples())
      await quiet.measure(WINDOW_MS, alone)
      const beside = noSamples()
      await during(flood, target, () => quiet.measure(WINDOW_MS, beside))
      besides.push([flood, beside])
    }
  } finally {
    await quiet.leave()
    await offshoot.delete(sandboxId)
    await offshoot.request('DELETE', `/v1/databases/${databaseId}`)
  }
  const worst = (kind: Kind): Figure => {
    const figures = besides.map(([flood, beside]) => {
      const figure = compared(beside[kind], alone[kind])
      console.error(`  ${flood}: ${kind}: ${describe(figure, alone[kind])}`)
      return figure
    })
    return figures.toSorted((a, b) => (b.ratio ?? 0) - (a.ratio ?? 0))[0] ?? new Samples().figure('ms')
  }
  return {
    noisy_neighbour: worst('lists'),
    noisy_neighbour_events: worst('events'),
    noisy_neighbour_usage: worst('usage'),
  }
}

function noSamples(): Measured {
  return { lists: new Samples(), events: new Samples(), usage: new Samples() }
}

function compared(beside: Samples, alone: Samples): Figure {
  const figure = beside.figure('ms')
  const { p99: floor } = alone.figure('ms')
  return { ...figure, floor, ratio: figure.p99 / floor }
}

function describe({ p50, p99, n, success, ratio }: Figure, alone: Samples): string {
  const before = alone.figure('ms')
  const [was, now] = [before, { p50, p99 }].map((of) => `p50 ${of.p50.toFixed(1)} p99 ${of.p99.toFixed(1)} ms`)
  return `${was} alone, ${now} beside, ratio ${ratio?.toFixed(2)}, ${n} requests, success ${success.toFixed(4)}`
}

async function during(flood: FloodKind, target: Target, work: () => Promise<void>): Promise<void> {
  const child = fork(join(import.meta.dirname, 'flood.ts'), [flood, JSON.stringify(target)])
  const release = hold(() => ended(child))
  try {
    if (child.pid !== undefined) setPriority(child.pid, NICE)
    await once(child, 'message')
    await work()
    child.send('how many')
    const [asked] = await once(child, 'message')
    console.error(`  ${flood}: the flood sent ${asked} requests`)
  } finally {
    await release()
  }
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  if (child.kill('SIGKILL')) await exited
}

interface QuietTenant {
  measure(forMs: number, into: Measured): Promise<void>
  leave(): Promise<void>
}

/** A workspace of its own with a few sandboxes. */
async function quietTenant(offshoot: Offshoot): Promise<QuietTenant> {
  const { base_url: url } = offshoot.credentials
  const key = await newWorkspaceKey(offshoot)
  const authorization = `Bearer ${key}`
  const ids: string[] = []
  for (let i = 0; i < SANDBOXES; i += 1) {
    const { status, text, body } = await offshoot.request('POST', '/v1/sandboxes', {
      headers: { authorization },
      body: { template: 'minimal' },
    })
    if (status !== 201) throw new Error(`create answered ${status}: ${text}`)
    ids.push(body.id)
  }
  const agent = new Agent({ keepAlive: true })
  const read = (path: string, isStream: boolean) => ask(agent, url + path, authorization, isStream)
  const asking: Record<Kind, () => Promise<void>> = {
    lists: () => read('/v1/sandboxes', false),
    // The first event of a stream that follows.
    events: () => read(`/v1/sandboxes/${ids[0]}/events?follow=1&tail=1`, true),
    usage: () => read('/v1/usage?group_by=sandbox', false),
  }
  const paced = async (kind: Kind, samples: Samples, forMs: number) => {
    const pending: Promise<unknown>[] = []
    const beganAt = performance.now()
    for (let sent = 0; performance.now() - beganAt < forMs;) {
      const due = ((performance.now() - beganAt) * PACE[kind]) / 1000
      for (; sent < due; sent += 1) pending.push(samples.time(asking[kind]))
      await delay(1)
    }
    await Promise.all(pending)
  }
  return {
    measure: async (forMs, into) => {
      await Promise.all(KINDS.map((kind) => paced(kind, into[kind], forMs)))
    },
    leave: async () => {
      agent.destroy()
      for (const id of ids) await offshoot.request('DELETE', `/v1/sandboxes/${id}`, { headers: { authorization } })
    },
  }
}

/** Resolves when the answer is complete, or with the first bytes of a stream. */
function ask(agent: Agent, url: string, authorization: string, isStream: boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const sent = request(url, { agent, headers: { authorization }, timeout: ANSWER_MS }, (answer) => {
    const done = () => {
      if (answer.statusCode === 200) resolve()
      else reject(new Error(`${url} answered ${answer.statusCode}`))
      if (isStream) sent.destroy()
    }
    answer.on('error', reject)
    answer.once('data', () => isStream && done())
    answer.once('end', done)
    answer.resume()
  })
  sent.on('timeout', () => sent.destroy(new Error(`${url}: no answer`)))
  sent.on('error', reject)
  sent.end()
  return promise
}
