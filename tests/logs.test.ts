import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEvents } from './setup/event-stream.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

interface Line {
  readonly ts: string
  readonly stream: string
  readonly line: string
  readonly source: string
}

const get = (id: string, query = '', headers: Record<string, string> = {}) =>
  offshoot.request('GET', `/v1/sandboxes/${id}/logs${query}`, { headers })
const json = async (id: string, query = ''): Promise<Line[]> =>
  (await get(id, query, { accept: 'application/json' })).body
const linesOf = async (id: string, query = '') => (await json(id, query)).map(({ line }) => line)
const follow = (id: string, query = '', headers: Record<string, string> = {}) =>
  openEvents(offshoot, 'GET', `/v1/sandboxes/${id}/logs?follow=1${query}`, { headers })

describe('the log of a sandbox', () => {
  it('has what its commands write, as text and as JSON, as soon as they have answered', async () => {
    const { id } = await offshoot.create()
    expect((await get(id)).text).toBe('')
    expect(await json(id)).toEqual([])
    await offshoot.exec(id, 'echo one; sleep 0.2; echo wrong >&2; sleep 0.2; printf "ü\\nlast"')
    const text = await get(id)
    expect([text.status, text.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(text.text).toBe('one\nwrong\nü\nlast\n')
    const ts = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(await json(id)).toEqual([
      { ts, stream: 'stdout', line: 'one', source: 'exec' },
      { ts, stream: 'stderr', line: 'wrong', source: 'exec' },
      { ts, stream: 'stdout', line: 'ü', source: 'exec' },
      { ts, stream: 'stdout', line: 'last', source: 'exec' },
    ])
    expect(await linesOf(id, '?stream=stderr')).toEqual(['wrong'])
    expect(await linesOf(id, '?stream=stdout&tail=2')).toEqual(['ü', 'last'])
    expect(await linesOf(id, '?stream=both&tail=3')).toEqual(['wrong', 'ü', 'last'])
    expect(await linesOf(id, '?tail=0')).toEqual([])
    await offshoot.delete(id)
    expect((await get(id)).status).toBe(404)
  })

  it('has the console', async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'echo from the console > /dev/ttyS0')
    const line = await until('the line', async () => (await json(id)).find(({ source }) => source === 'console'))
    expect(line).toMatchObject({ stream: 'stdout', line: 'from the console' })
    await offshoot.delete(id)
  })

  it('is followed, the kept lines first, until the sandbox is no more', async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'seq 1 100; echo no >&2')
    const [all, some, errors, resumed] = await Promise.all([
      follow(id),
      follow(id, '&tail=2'),
      follow(id, '&stream=stderr'),
      follow(id, '&tail=1', { 'last-event-id': '99' }),
    ])
    await offshoot.exec(id, 'echo new; echo not >&2')
    await offshoot.exec(id, 'echo > /dev/ttyS0 live')
    await until('the console in the log', async () => (await linesOf(id)).includes('live'))
    await offshoot.delete(id)
    const read = async (stream: typeof all) => (await stream.rest()).map(({ data }) => data.line as string)
    const events = await all.rest()
    // Where a client continues whose connection breaks before it has a line.
    const begins = [all, some, errors, resumed].map(({ response }) => response.headers['last-event-id'])
    expect(begins).toEqual(['0', '99', '0', '99'])
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_event, index) => index + 1))
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(['line']))
    const numbers = Array.from({ length: 100 }, (_unused, index) => String(index + 1))
    expect(events.map(({ data }) => data.line as string).toSorted()).toEqual(
      [...numbers, 'no', 'new', 'not', 'live'].toSorted(),
    )
    expect((await read(some)).length).toBe(2 + 3)
    expect(await read(errors)).toEqual(['no', 'not'])
    expect((await read(resumed)).length).toBe(2 + 3)
  })

  it('survives a kill -9 of the agent', { tags: ['faults'] }, async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'echo before; echo on the console > /dev/ttyS0')
    await until('both lines', async () => (await linesOf(id)).length === 2)
    const stream = await follow(id)
    const seen = stream.rest().catch(() => [])
    await offshoot.killService('agent')
    await seen
    await offshoot.exec(id, 'echo after')
    expect((await linesOf(id)).toSorted()).toEqual(['after', 'before', 'on the console'])
    await offshoot.delete(id)
  })

  it('keeps the end of what is written without end, in bounded files', { tags: ['long'] }, async () => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'yes "$(head -c 200 /dev/zero | tr "\\0" y)" | head -c 20000000; echo; echo the end')
    expect(await linesOf(id, '?tail=1')).toEqual(['the end'])
    const folder = join(offshoot.dataDir, 'agent/sandboxes', id)
    for (const name of ['log.jsonl', 'log.1.jsonl']) {
      const content = await readFile(join(folder, name)).catch(() => Buffer.alloc(0))
      expect(content.length).toBeLessThan(10 * 1024 * 1024)
    }
    await offshoot.delete(id)
  })

  it('refuses what makes no sense', async () => {
    const { id } = await offshoot.create()
    for (const [query, name] of [
      ['?stream=all', 'stream'],
      ['?tail=-1', 'tail'],
      ['?follow=2', 'follow'],
    ] as const) {
      const answer = await get(id, query)
      expect({ query, status: answer.status }).toEqual({ query, status: 400 })
      expect(answer.body.error).toContain(name)
    }
    expect((await get(id, '?follow=1', { 'last-event-id': '-' })).status).toBe(400)
    expect((await get(id, '', { authorization: 'Bearer ofs_nonsense' })).status).toBe(401)
    expect((await get('00000000-0000-4000-8000-000000000000')).status).toBe(404)
    await offshoot.delete(id)
  })
})
