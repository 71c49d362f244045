import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EventStream, openEvents, type ServerEvent } from './setup/event-stream.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

const get = (id: string, query = '', headers: Record<string, string> = {}) =>
  offshoot.request('GET', `/v1/sandboxes/${id}/events${query}`, { headers })
const follow = (id: string, query: string, headers?: Record<string, string>) =>
  openEvents(offshoot, 'GET', `/v1/sandboxes/${id}/events${query}`, headers ? { headers } : {})
const types = (events: readonly ServerEvent[]) => events.map(({ data }) => data.type)
const typesOf = async (id: string, query = ''): Promise<string[]> =>
  (await get(id, query)).body.map(({ type }: { type: string }) => type)
const sshReady = (id: string) => until('an SSH server', async () => (await typesOf(id)).includes('sandbox.ssh_ready'))

async function next(stream: EventStream): Promise<ServerEvent> {
  const { value, done } = await stream.next()
  if (done) throw new Error('the stream has ended')
  return value
}

describe('events of a sandbox', () => {
  it('are the specified fields, once each, over a restart of the agent by kill -9', async () => {
    const { id } = await offshoot.create({ template: 'base' })
    await sshReady(id)
    const before = await get(id)
    expect(before.status).toBe(200)
    expect(before.body).toEqual([
      {
        ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        sandbox_id: id,
        agent_id: expect.any(String),
        type: 'sandbox.running',
        code: 'ok',
        message: expect.any(String),
        metadata: expect.objectContaining({
          boot_ms: expect.any(Number),
          boot_mode: 'snapshot',
          from_snapshot: null,
          warm: false,
        }),
      },
      expect.objectContaining({
        type: 'sandbox.ssh_ready',
        code: 'ok',
        metadata: { ssh_ready_ms: expect.any(Number) },
      }),
    ])
    await offshoot.killService('agent')
    expect((await get(id, '?since=0')).body).toEqual(before.body)
    const [running, ready] = before.body
    expect(await typesOf(id, `?since=${running.ts}`)).toEqual(['sandbox.ssh_ready'])
    expect(await typesOf(id, `?since=${ready.ts}`)).toEqual([])
    expect(await typesOf(id, '?since=1')).toEqual(['sandbox.ssh_ready'])
    expect(await typesOf(id, '?tail=1')).toEqual(['sandbox.ssh_ready'])
    expect(await typesOf(id, '?tail=0')).toEqual([])
    expect(await typesOf(id, '?since=0&tail=1')).toEqual(['sandbox.ssh_ready'])
    expect(await typesOf(id, '?since=1&tail=5')).toEqual(['sandbox.ssh_ready'])
    await offshoot.delete(id)
  })

  it('leave neither a host key nor a session of the SSH server that was asked for them', async () => {
    const { id } = await offshoot.create({ template: 'base' })
    await sshReady(id)
    await until('the end of the session', async () => (await offshoot.exec(id, 'pgrep -c dropbear')).stdout === '1\n')
    expect((await offshoot.exec(id, 'ls /etc/dropbear')).stdout).toBe('')
    await offshoot.delete(id)
  })

  it('combine tail, since, follow and Last-Event-ID, and end with the sandbox', async () => {
    const { id } = await offshoot.create({ template: 'base' })
    await sshReady(id)
    const [running] = (await get(id)).body
    const streams = await Promise.all([
      follow(id, '?follow=1'),
      follow(id, '?follow=true&tail=1'),
      follow(id, '?follow=yes&tail=0'),
      follow(id, '?follow=1&since=1'),
      follow(id, `?follow=1&since=${running.ts}`),
      follow(id, '?follow=1&since=0&tail=1'),
      follow(id, '?follow=1&since=2099-01-01T00:00:00Z'),
      follow(id, '?follow=1&since=0&tail=9', { 'last-event-id': '2' }),
    ])
    expect(streams[0]?.response.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
    await offshoot.delete(id)
    const [all, last, none, number, time, both, future, resumed] = await Promise.all(
      streams.map((stream) => stream.rest()),
    )
    const [first, second, third] = ['sandbox.running', 'sandbox.ssh_ready', 'sandbox.deleted']
    expect(types(all ?? [])).toEqual([first, second, third])
    expect(all?.map(({ id, event }) => [id, event])).toEqual([
      ['1', 'ev'],
      ['2', 'ev'],
      ['3', 'ev'],
    ])
    for (const [events, expected] of [
      [last, [second, third]],
      [none, [third]],
      [number, [second, third]],
      [time, [second, third]],
      [both, [second, third]],
      [future, []],
      [resumed, [third]],
    ] as const) {
      expect(types(events ?? [])).toEqual(expected)
    }
    expect((await get(id)).status).toBe(404)
  })

  it('are the same to a reader that is cut off by a killed agent and comes back', { tags: ['faults'] }, async () => {
    const { id } = await offshoot.create()
    const stream = await follow(id, '?follow=1')
    const first = await next(stream)
    expect(first.data.type).toBe('sandbox.running')
    const rest = stream.rest().catch(() => [])
    await offshoot.killService('agent')
    await rest
    const again = await follow(id, '?follow=1', { 'last-event-id': first.id ?? '' })
    await offshoot.delete(id)
    expect(types(await again.rest())).toEqual(['sandbox.deleted'])
  })

  it('say that a VM died', async () => {
    const { id } = await offshoot.create()
    const stream = await follow(id, '?follow=1&tail=0')
    const vm = (await offshoot.virtualMachines()).find(({ sandboxId }) => sandboxId === id)
    process.kill(vm?.pid ?? Number.NaN, 'SIGKILL')
    expect((await next(stream)).data).toMatchObject({ type: 'vm.died', code: 'error', metadata: { signal: 'SIGKILL' } })
    stream.close()
    expect(await typesOf(id, '?tail=1')).toEqual(['vm.died'])
    await offshoot.delete(id)
  })

  it('refuse what makes no sense, by the name of the parameter', async () => {
    const { id } = await offshoot.create()
    for (const [query, name] of [
      ['?tail=x', 'tail'],
      ['?tail=-1', 'tail'],
      ['?tail=1&tail=2', 'tail'],
      ['?follow=maybe', 'follow'],
      ['?since=yesterday', 'since'],
      ['?since=', 'since'],
      ['?follow=1&since=2026-02-30', 'since'],
    ] as const) {
      const answer = await get(id, query)
      expect({ query, status: answer.status }).toEqual({ query, status: 400 })
      expect(answer.body.error).toContain(name)
    }
    expect((await get(id, '?follow=1', { 'last-event-id': 'x' })).body.error).toContain('Last-Event-ID')
    expect((await get(id, '?follow=1', { authorization: 'Bearer ofs_nonsense' })).status).toBe(401)
    expect((await get('00000000-0000-4000-8000-000000000000', '?follow=1')).status).toBe(404)
    expect((await offshoot.request('POST', `/v1/sandboxes/${id}/events`)).status).toBe(405)
    await offshoot.delete(id)
  })

  it('reach a thousand followers', { tags: ['long'] }, async () => {
    const { id } = await offshoot.create()
    const streams = await Promise.all(Array.from({ length: 1000 }, () => follow(id, '?follow=1')))
    await offshoot.delete(id)
    const read = await Promise.all(streams.map((stream) => stream.rest()))
    expect(new Set(read.map((events) => types(events).join()))).toEqual(new Set(['sandbox.running,sandbox.deleted']))
  })
})
