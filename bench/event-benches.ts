import { readFile } from 'node:fs/promises'
import { type EventStream, openEvents, type ServerEvent } from '../tests/setup/event-stream.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { type Figure, rounds, Samples } from './measure.ts'

type Figures = Record<string, Figure>

const FAN_OUT_FOLLOWERS = 1000
const IDLE_FOLLOWERS = 2000
/** Connections opened in parallel. */
const LOT = 100
const READ_MS = 20_000

/**
 * All followers of one sandbox receive every change. The figure is the number of delivered events per second, over all
 * followers.
 */
export async function eventsFanout(offshoot: Offshoot, changes = 60): Promise<Figures> {
  const { id } = await offshoot.create({ template: 'minimal' })
  const streams = await followers(offshoot, id, FAN_OUT_FOLLOWERS)
  const counts = streams.map(() => 0)
  const reading = streams.map(async (stream, i) => {
    for await (const { data } of stream) if (data.type !== 'sandbox.deleted') counts[i] = (counts[i] ?? 0) + 1
  })
  const delivered = () => counts.reduce((sum, count) => sum + count, 0)
  const startedAt = performance.now()
  let made = 0
  for (const i of rounds(changes)) {
    made += 1
    const { status } = await offshoot.request('POST', `/v1/sandboxes/${id}/${i % 2 === 0 ? 'pause' : 'resume'}`)
    if (status !== 200) throw new Error(`a change of state answered ${status}`)
  }
  const wanted = made * FAN_OUT_FOLLOWERS
  await until('every event to arrive', () => delivered() >= wanted, READ_MS).catch((error: unknown) => {
    console.error(`${wanted - delivered()} of ${wanted} lost:`, error)
  })
  const seconds = (performance.now() - startedAt) / 1000
  await offshoot.delete(id)
  await Promise.all(reading)
  return { events_fanout: single('1/s', delivered() / seconds, wanted, delivered() / wanted) }
}

/** The cost of idle followers. A follower counts as served if it receives the deletion of the sandbox. */
export async function idleFollowers(offshoot: Offshoot): Promise<Figures> {
  const { id } = await offshoot.create({ template: 'minimal' })
  const before = await memory(offshoot)
  const streams = await followers(offshoot, id, IDLE_FOLLOWERS)
  const after = await memory(offshoot)
  await offshoot.delete(id)
  const ends = await Promise.all(streams.map(async (stream) => (await stream.rest()).map(typeOf).join()))
  const served = ends.filter((types) => types === 'sandbox.deleted').length / IDLE_FOLLOWERS
  return {
    idle_followers_control_mib: single('MiB', after.control - before.control, IDLE_FOLLOWERS, served),
    idle_followers_agent_mib: single('MiB', after.agent - before.agent, IDLE_FOLLOWERS, served),
  }
}

async function followers(offshoot: Offshoot, id: string, count: number): Promise<EventStream[]> {
  const streams: EventStream[] = []
  while (streams.length < count) {
    const lot = Array.from({ length: LOT }, async () =>
      openEvents(offshoot, 'GET', `/v1/sandboxes/${id}/events?follow=1&tail=0`),
    )
    streams.push(...(await Promise.all(lot)))
  }
  return streams
}

const typeOf = ({ data }: ServerEvent): string => data.type

/** Resident MiB of each service. */
export async function memory(offshoot: Offshoot): Promise<{ control: number; agent: number }> {
  const of = async (name: 'control' | 'agent') => residentMib((await until(name, () => offshoot.service(name))).pid)
  return { control: await of('control'), agent: await of('agent') }
}

export async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** A figure with one value. `n`: number of participants. `success`: the share that was served. */
export function single(unit: Figure['unit'], value: number, n: number, success: number): Figure {
  const sample = new Samples()
  sample.add(value)
  return { ...sample.figure(unit), n, success }
}
