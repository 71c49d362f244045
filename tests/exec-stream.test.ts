import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEvents, type ServerEvent } from './setup/event-stream.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'
import { TestSocket } from './setup/web-socket.ts'

/** MiB, because volume reveals more faults than time. The service promises 1024. */
const STREAM_MIB = Number(process.env['OFFSHOOT_STREAM_MIB'] ?? 24)

let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create()).id
})
afterAll(giveBack)

const path = () => `/v1/sandboxes/${id}/exec/stream`
const open = async (body: unknown) => openEvents(offshoot, 'POST', path(), { body })
const run = async (body: unknown) => (await open(body)).rest()
const textOf = (events: readonly ServerEvent[], stream = 'stdout') =>
  events
    .filter(({ event }) => event === stream)
    .map(({ data }) => data.chunk as string)
    .join('')
const running = async (word: string) =>
  Number((await offshoot.exec(id, `ps | grep -v grep | grep -c '${word}' || true`)).stdout) > 0
const written = async () => Number((await offshoot.exec(id, 'cat /tmp/written')).stdout)
/** A process that stops until it gets SIGCONT. */
const standing = (i: number) => `echo ${i}; kill -STOP $$; exit ${i % 100}`

describe('exec/stream', () => {
  it('gives both streams as they are written, then the exit', async () => {
    const stream = await open({ cmd: 'echo out; read line; echo "$line" >&2; exit 3', stdin: 'in\n' })
    expect(stream.response.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
    const events = await stream.rest()
    expect(textOf(events)).toBe('out\n')
    expect(textOf(events, 'stderr')).toBe('in\n')
    expect(events.at(-1)).toEqual({
      event: 'exit',
      id: undefined,
      data: { exit_code: 3, duration_ms: expect.any(Number) },
    })
  })

  it('gives output while the command runs', async () => {
    const stream = await open({ cmd: 'echo first; while [ ! -e /tmp/go ]; do sleep 0.02; done; echo second' })
    expect((await stream.next()).value).toMatchObject({ event: 'stdout', data: { chunk: 'first\n' } })
    await offshoot.exec(id, 'touch /tmp/go')
    expect(textOf(await stream.rest())).toBe('second\n')
  })

  it('holds back a character that is cut at a pause', async () => {
    const cmd = String.raw`printf 'a\303'; while [ ! -e /tmp/rest ]; do sleep 0.02; done; printf '\251\360\237'`
    const stream = await open({ cmd })
    expect((await stream.next()).value).toMatchObject({ data: { chunk: 'a' } })
    await offshoot.exec(id, 'touch /tmp/rest')
    expect(textOf(await stream.rest())).toBe('é\uFFFD')
  })

  it('takes cwd, env and user; a signal is 128 + signal', async () => {
    const events = await run({ cmd: 'pwd; echo $A; id -un; kill -TERM $$', cwd: '/tmp', env: { A: 'b' }, user: 'user' })
    expect(textOf(events)).toBe('/tmp\nb\nuser\n')
    expect(events.at(-1)?.data.exit_code).toBe(143)
  })

  it('ends by an error event at the timeout, and kills the process group', async () => {
    const events = await run({ cmd: 'echo before; sleep 7101 & sleep 7101', timeout_seconds: 1 })
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['stdout', { chunk: 'before\n' }],
      ['error', { error: 'command timeout after 1s' }],
    ])
    await until('no sleep left', async () => !(await running('sleep 7101')))
  })

  it('kills the process group when the caller hangs up', async () => {
    const stream = await open({ cmd: 'echo on; sleep 7102 & sleep 7102' })
    await stream.next()
    expect(await running('sleep 7102')).toBe(true)
    stream.close()
    await until('no sleep left', async () => !(await running('sleep 7102')))
  })

  it.each([
    [{}, 400, 'cmd required'],
    [undefined, 400, 'cmd required'],
    ['{', 400, 'invalid json'],
    ['[]', 400, 'invalid json'],
    [{ cmd: 'true', timeout_seconds: 0 }, 400, 'timeout_seconds must be >= 1'],
    [{ cmd: 'true', background: 1 }, 400, 'background must be a boolean'],
    [{ cmd: 'true', background: true, cwd: '/no/such/folder' }, 400, expect.stringContaining('cwd')],
    [{ cmd: 'true', cwd: '/no/such/folder' }, 400, expect.stringContaining('cwd')],
    [{ cmd: 'true', user: 'nobody-of-that-name' }, 400, expect.stringContaining('user')],
  ])('refuses %j with plain JSON before the stream', async (body, status, error) => {
    const answer = await offshoot.request('POST', path(), { body })
    expect([answer.status, answer.body.error, answer.headers['content-type']]).toEqual([
      status,
      error,
      'application/json; charset=utf-8',
    ])
  })

  it('refuses who may not, what is not there and other methods as every route', async () => {
    const body = { cmd: 'true' }
    const refused = async (method: string, at: string, headers = {}) => {
      const answer = await offshoot.request(method, at, { body, headers })
      return [
        answer.status,
        answer.body.error,
        answer.rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id').length,
      ]
    }
    expect(await refused('POST', path(), { authorization: '' })).toEqual([401, 'unauthorized', 1])
    expect(await refused('POST', '/v1/sandboxes/00000000-0000-4000-8000-000000000000/exec/stream')).toEqual([
      404,
      'not found',
      1,
    ])
    expect(await refused('POST', '/v1/sandboxes/x/exec/stream')).toEqual([404, 'not found', 1])
    expect(await refused('PUT', path())).toEqual([405, 'method not allowed', 1])
  })

  it('holds the command back while the caller does not read', { tags: ['faults'] }, async () => {
    const stream = await open({
      cmd: 'i=0; while :; do i=$((i+1)); echo $i > /tmp/written; head -c 100000 /dev/zero | tr "\\0" x; done',
    })
    let before = -1
    const stood = await until('the writer standing still', async () => {
      const now = await written()
      const stands = now === before
      before = now
      await offshoot.exec(id, 'sleep 0.5')
      return stands && now > 0 ? now : null
    })
    expect(stood * 100_000).toBeLessThan(64 * 1024 * 1024)
    stream.close()
    await until(
      'the writer gone',
      async () => (await written()) === (await offshoot.exec(id, 'sleep 0.3'), await written()),
    )
  })

  it(
    `carries ${STREAM_MIB} MiB whole, and neither control nor agent nor guest grows with it`,
    { tags: ['long'], timeout: 150_000 + STREAM_MIB * 1000 },
    async () => {
      const bytes = STREAM_MIB * 1024 * 1024
      const before = await memory()
      const stream = await open({ cmd: `head -c ${bytes} /dev/zero | tr '\\0' x; echo end >&2` })
      let received = 0
      let last: ServerEvent | undefined
      for await (const event of stream) {
        if (event.event === 'stdout') received += event.data.chunk.length
        last = event
      }
      expect(received).toBe(bytes)
      expect(last?.event).toBe('exit')
      const after = await memory()
      expect(after.control - before.control).toBeLessThan(100)
      expect(after.agent - before.agent).toBeLessThan(100)
      expect(after.guest - before.guest).toBeLessThan(2)
    },
  )

  it('serves 200 at once, each its own, beside 50 terminals, in bounded memory', { tags: ['long'] }, async () => {
    const before = await memory()
    const streams = await Promise.all(Array.from({ length: 200 }, async (_, i) => open({ cmd: standing(i) })))
    const terminals = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const cmd = encodeURIComponent(`echo at work ${i}; read line; echo "<$line>"`)
        const terminal = await TestSocket.open(offshoot, `/v1/sandboxes/${id}/exec/pty?cmd=${cmd}`)
        await terminal.shows(`at work ${i}`)
        return terminal
      }),
    )
    const after = await memory()
    expect(after.control - before.control).toBeLessThan(150)
    expect(after.agent - before.agent).toBeLessThan(150)
    expect(after.guest - before.guest).toBeLessThan(32)
    for (const [i, terminal] of terminals.entries()) terminal.socket.send(Buffer.from(`typed ${i}\n`))
    await Promise.all(terminals.map(async (terminal, i) => terminal.shows(`<typed ${i}>`)))
    let ended = 0
    const reading = streams.map(async (stream) => {
      const events = await stream.rest()
      ended += 1
      return events
    })
    await until('all to end', async () => {
      await offshoot.exec(id, 'kill -CONT -1')
      return ended === 200
    })
    const all = await Promise.all(reading)
    expect(all.map((events) => [textOf(events), events.at(-1)?.data.exit_code])).toEqual(
      all.map((_, i) => [`${i}\n`, i % 100]),
    )
  })

  it('ends cleanly when the agent is killed, and the next one serves', { tags: ['faults'] }, async () => {
    const stream = await open({ cmd: 'echo on; sleep 7103' })
    await stream.next()
    const killed = offshoot.killService('agent')
    const rest = await stream.rest()
    expect(rest.map(({ event, data }) => [event, data])).toEqual([['error', { error: 'agent unreachable' }]])
    await killed
    expect(textOf(await run({ cmd: 'echo again' }))).toBe('again\n')
    await until('no sleep left', async () => !(await running('sleep 7103')))
  })
})

/** Resident MiB of the services, and of the agent inside the guest. */
async function memory(): Promise<Record<'control' | 'agent' | 'guest', number>> {
  const of = async (name: 'control' | 'agent') => residentMib((await until(name, () => offshoot.service(name))).pid)
  const { stdout } = await offshoot.exec(id, 'cat /proc/1/status')
  return { control: await of('control'), agent: await of('agent'), guest: residentOf(stdout) }
}

const residentOf = (status: string) => Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024

async function residentMib(pid: number): Promise<number> {
  return residentOf(await readFile(`/proc/${pid}/status`, 'utf8'))
}
