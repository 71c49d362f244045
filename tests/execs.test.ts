import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEvents, type ServerEvent } from './setup/event-stream.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create()).id
})
afterAll(giveBack)

const at = (rest = '') => `/v1/sandboxes/${id}/execs${rest}`
const start = async (cmd: string, more: Record<string, unknown> = {}): Promise<string> => {
  const answer = await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
    body: { cmd, background: true, ...more },
  })
  expect([answer.status, answer.body]).toEqual([201, { pid: expect.any(Number), exec_id: expect.any(String) }])
  return answer.body.exec_id
}
const find = async (exec: string) => (await offshoot.request('GET', at(`/${exec}`))).body
const ended = async (exec: string) =>
  until(`${exec} to end`, async () => {
    const found = await find(exec)
    return found.status === 'exited' ? found : null
  })
const follow = async (exec: string, query = '', headers = {}) =>
  openEvents(offshoot, 'GET', at(`/${exec}/stream${query}`), { headers })
const textOf = (events: readonly ServerEvent[]) =>
  events.map(({ data }) => (data.chunk as string | undefined) ?? '').join('')
const refused = async (method: string, path: string, body?: unknown) => {
  const answer = await offshoot.request(method, path, { body })
  return [answer.status, answer.body.error]
}

describe('background commands', () => {
  it('are answered at once, listed, and tell how they ended', async () => {
    const exec = await start('echo out; read line; echo "$line" >&2; exit 5', { stdin: 'in\n', cwd: '/tmp' })
    const found = await ended(exec)
    expect(found).toEqual({
      exec_id: exec,
      pid: expect.any(Number),
      cmd: 'echo out; read line; echo "$line" >&2; exit 5',
      is_pty: false,
      status: 'exited',
      exit_code: 5,
      started_at: expect.stringMatching(/^\d{4}-.*Z$/),
      timeout_at: null,
      ended_at: expect.stringMatching(/^\d{4}-.*Z$/),
      output_bytes: 7,
      oldest_offset: 0,
    })
    const list = await offshoot.request('GET', at())
    expect(list.body).toContainEqual(found)
    const events = await (await follow(exec)).rest()
    expect(events.map(({ event, id: offset, data }) => [event, offset, data.chunk])).toEqual([
      ['stdout', '4', 'out\n'],
      ['stderr', '7', 'in\n'],
      ['exit', undefined, undefined],
    ])
    expect(events.at(-1)?.data).toEqual({ exit_code: 5, duration_ms: expect.any(Number) })
  })

  it('are replayed from any offset, and from the last id, then live', async () => {
    const exec = await start('echo 0123456789; while [ ! -e /tmp/go ]; do sleep 0.02; done; echo ä')
    const first = await follow(exec, '?offset=4')
    expect((await first.next()).value).toMatchObject({ id: '11', data: { chunk: '456789\n' } })
    first.close()
    const second = await follow(exec, '?offset=0', { 'last-event-id': '11' })
    await offshoot.exec(id, 'touch /tmp/go')
    expect(textOf(await second.rest())).toBe('ä\n')
    expect(textOf(await (await follow(exec, '?offset=99999')).rest())).toBe('')
    const early = await start('while [ ! -e /tmp/later ]; do sleep 0.02; done; echo 0123456789')
    const ahead = await follow(early, '?offset=4')
    await offshoot.exec(id, 'touch /tmp/later')
    expect(textOf(await ahead.rest())).toBe('456789\n')
  })

  it('take input of any bytes until its end, also by their process id, and are waited for', async () => {
    const body = { argv: ['cat'], background: true, stdin: 'AP8=', encoding: 'base64', stdin_open: true }
    const { pid, exec_id: exec } = (await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body })).body
    const reader = await follow(String(pid), '?encoding=base64')
    const post = async (path: string, sent: unknown) => (await offshoot.request('POST', at(path), { body: sent })).body
    expect(await post(`/${pid}/stdin`, { stdin: 'text' })).toMatchObject({ exec_id: exec, status: 'running' })
    expect((await offshoot.request('GET', at(`/${exec}/wait?timeout_seconds=1`))).body.status).toBe('running')
    await post(`/${exec}/stdin`, { eof: true })
    expect((await offshoot.request('GET', at(`/${pid}/wait`))).body).toMatchObject({ exec_id: exec, exit_code: 0 })
    const bytes = (await reader.rest()).flatMap(({ data }) => [...Buffer.from((data.chunk as string) ?? '', 'base64')])
    expect(bytes).toEqual([0, 255, ...Buffer.from('text')])
    for (const [path, sent] of [
      ['stdin', { stdin: 'late' }],
      ['resize', { rows: 2, cols: 2 }],
    ] as const)
      expect(await post(`/${exec}/${path}`, sent)).toEqual({ error: 'conflict', detail: 'the command has ended' })
  })

  it('on a terminal survive a pause, a hibernation and a resize', async () => {
    const exec = await start('read a; stty size; read b; echo "$a$b"', { pty: { rows: 30, cols: 70 } })
    await offshoot.request('POST', at(`/${exec}/stdin`), { body: { stdin: 'one\n' } })
    for (const step of ['pause', 'resume', 'hibernate', 'wake'])
      await offshoot.request('POST', `/v1/sandboxes/${id}/${step}`)
    expect((await offshoot.request('POST', at(`/${exec}/resize`), { body: { rows: 40, cols: 90 } })).body.is_pty).toBe(
      true,
    )
    await offshoot.request('POST', at(`/${exec}/stdin`), { body: { stdin: 'two\n' } })
    expect((await offshoot.request('GET', at(`/${exec}/wait`))).body).toMatchObject({ exit_code: 0 })
    expect(textOf(await (await follow(exec)).rest())).toContain('onetwo')
  })

  it('never wait for a reader; what is no longer kept shows as a gap', { tags: ['faults'] }, async () => {
    const exec = await start('head -c 3000000 /dev/zero | tr "\\0" x')
    const { oldest_offset: oldest } = await ended(exec)
    expect(oldest).toBeGreaterThan(1_500_000)
    const events = await (await follow(exec)).rest()
    expect(events[0]).toMatchObject({ event: 'gap', data: { from: 0, to: oldest } })
    expect(textOf(events)).toHaveLength(3_000_000 - oldest)
  })

  it('are signalled and deleted', async () => {
    const exec = await start('trap "exit 9" INT; echo ready; while :; do sleep 0.02; done')
    await (await follow(exec)).next()
    const answer = await offshoot.request('POST', at(`/${exec}/signal`), { body: { signal: 'SIGINT' } })
    expect([answer.status, answer.body.exec_id]).toEqual([200, exec])
    expect((await ended(exec)).exit_code).toBe(9)
    const other = await start('echo on; sleep 7401')
    const stream = await follow(other)
    await stream.next()
    expect((await offshoot.request('DELETE', at(`/${other}`))).status).toBe(204)
    expect((await stream.rest()).at(-1)).toMatchObject({ event: 'error', data: { error: 'the command was deleted' } })
    expect((await offshoot.request('GET', at(`/${other}`))).status).toBe(404)
    await until(
      'no sleep left',
      async () => (await offshoot.exec(id, 'ps | grep -c "[s]leep 7401" || true')).stdout.trim() === '0',
    )
  })

  it('are followed from their start by exec/stream, and go on without their caller', async () => {
    const body = { cmd: 'echo one; echo two >&2; read line; echo "$line"', background: true, stdin_open: true }
    const stream = await openEvents(offshoot, 'POST', `/v1/sandboxes/${id}/exec/stream`, { body })
    const { event, data } = (await stream.next()).value as ServerEvent
    expect([event, data]).toEqual(['started', { pid: expect.any(Number), exec_id: expect.any(String) }])
    const { pid, exec_id: exec } = data as { pid: number; exec_id: string }
    const chunks = [await stream.next(), await stream.next()].map(({ value }) => (value as ServerEvent).data)
    expect(chunks).toEqual([{ chunk: 'one\n' }, { chunk: 'two\n' }])
    stream.close()
    expect(await find(exec)).toMatchObject({ pid, status: 'running' })
    await offshoot.request('POST', at(`/${pid}/stdin`), { body: { stdin: 'three\n', eof: true } })
    expect(await ended(exec)).toMatchObject({ exit_code: 0, output_bytes: 14 })
  })

  it('are killed at their timeout, and shown by the beginning of a long command', async () => {
    const exec = await start(`sleep 7402 & sleep 7402; : ${'ü'.repeat(600)}`, { timeout_seconds: 1 })
    const found = await ended(exec)
    expect(found).toMatchObject({ exit_code: 137, timeout_at: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(found.cmd).toMatch(/^sleep 7402 & sleep 7402; : ü{486}$/)
    await until(
      'no sleep left',
      async () => (await offshoot.exec(id, 'ps | grep -c "[s]leep 7402" || true')).stdout.trim() === '0',
    )
  })

  it(
    'outlive the agent, with their output, which is in the log once, and their timeout',
    { tags: ['faults'] },
    async () => {
      const late = await start('sleep 7403', { timeout_seconds: 2 })
      const exec = await start('i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i; sleep 0.05; done; exit 6')
      const stream = await follow(exec)
      const { id: offset } = (await stream.next()).value as ServerEvent
      const killed = offshoot.killService('agent')
      const before = await stream.rest()
      expect(before.at(-1)).toMatchObject({ event: 'error', data: { error: 'agent unreachable' } })
      await killed
      const last = before.at(-2)?.id ?? offset ?? ''
      const events = await (await follow(exec, '', { 'last-event-id': last })).rest()
      expect(events.at(-1)?.data.exit_code).toBe(6)
      const whole = await (await follow(exec)).rest()
      expect(textOf(whole)).toBe(Array.from({ length: 100 }, (_, i) => `${i + 1}\n`).join(''))
      expect(textOf(whole).endsWith(textOf(events))).toBe(true)
      expect(Number(last) + Buffer.byteLength(textOf(events))).toBe(Buffer.byteLength(textOf(whole)))
      const headers = { accept: 'application/json' }
      const log: { line: string; source: string }[] = (
        await offshoot.request('GET', `/v1/sandboxes/${id}/logs`, { headers })
      ).body
      const logged = log.filter(({ source }) => source === `exec:${exec}`).map(({ line }) => Number(line))
      expect(logged).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
      expect((await ended(late)).exit_code).toBe(137)
    },
  )

  it('are refused clearly', async () => {
    const unknown = '/00000000-0000-4000-8000-000000000000'
    for (const exec of [unknown, '/x', '/pty%3Aone']) {
      expect(await refused('GET', at(exec))).toEqual([404, 'not found'])
      expect(await refused('GET', at(`${exec}/stream`))).toEqual([404, 'not found'])
      expect(await refused('DELETE', at(exec))).toEqual([404, 'not found'])
      expect(await refused('GET', at(`${exec}/wait`))).toEqual([404, 'not found'])
      expect(await refused('POST', at(`${exec}/stdin`), { eof: true })).toEqual([404, 'not found'])
      expect(await refused('POST', at(`${exec}/resize`), { rows: 1, cols: 1 })).toEqual([404, 'not found'])
      expect(await refused('POST', at(`${exec}/signal`), { signal: 'SIGINT' })).toEqual([404, 'not found'])
    }
    const exec = await start('true')
    expect(await refused('POST', at(`/${exec}/signal`), {})).toEqual([400, 'signal required'])
    expect((await refused('POST', at(`/${exec}/signal`), { signal: 'KILL' }))[0]).toBe(400)
    expect(await refused('GET', at(`/${exec}/stream?offset=-1`))).toEqual([400, 'offset must be an integer >= 0'])
    expect(await refused('GET', at(`/${exec}/stream?encoding=hex`))).toEqual([
      400,
      'encoding must be one of utf8, base64',
    ])
    expect(await refused('POST', at(`/${exec}/stdin`), {})).toEqual([400, 'stdin or eof required'])
    expect(await refused('POST', at(`/${exec}/stdin`), 'x')).toEqual([400, 'invalid json'])
    expect(await refused('POST', at(`/${exec}/resize`), { rows: 1 })).toEqual([400, 'cols required'])
    expect((await refused('GET', at(`/${exec}/wait?timeout_seconds=301`)))[0]).toBe(400)
    expect(await refused('PUT', at(`/${exec}`))).toEqual([405, 'method not allowed'])
    const run = `/v1/sandboxes/${id}/exec`
    expect(await refused('POST', run, { cmd: 'true', background: 1 })).toEqual([400, 'background must be a boolean'])
    expect((await refused('POST', run, { cmd: 'true', background: true, timeout_seconds: 0 }))[0]).toBe(400)
    expect((await refused('POST', run, { cmd: 'true', background: true, cwd: '/no/such' }))[0]).toBe(400)
  })

  it('are kept in any number up to 1024, over several pages of the list', { tags: ['long'] }, async () => {
    const cmd = `true ${'x'.repeat(900)}`
    for (let i = 0; i < 70; i++) await start(cmd)
    const { body } = await offshoot.request('GET', at())
    expect(body.filter((exec: { cmd: string }) => exec.cmd === cmd)).toHaveLength(70)
  })
})
