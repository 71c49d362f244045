import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'
import { TestSocket } from './setup/web-socket.ts'

let offshoot: Offshoot
let id: string
/** Stays silent from the first test on, to show that idle sockets survive. */
let quiet: TestSocket
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create()).id
  quiet = await open()
})
afterAll(giveBack)

const path = () => `/v1/sandboxes/${id}/exec/ws`
const open = async () => TestSocket.open(offshoot, path())
const running = async (word: string) =>
  Number((await offshoot.exec(id, `ps | grep -v grep | grep -c '${word}' || true`)).stdout) > 0

describe('exec/ws', () => {
  it('runs many commands at once, each under its id', async () => {
    const socket = await open()
    for (let i = 0; i < 40; i++)
      socket.send({ id: `c${i}`, cmd: `echo ${i}; echo ${i} >&2; exit ${i}`, cwd: '/tmp', env: { A: '1' } })
    for (let i = 0; i < 40; i++) {
      expect(await socket.end(`c${i}`)).toEqual({ id: `c${i}`, exit: i, duration_ms: expect.any(Number) })
      expect([socket.output(`c${i}`), socket.output(`c${i}`, 'stderr')]).toEqual([`${i}\n`, `${i}\n`])
    }
    // A client may reuse an id after its command has ended.
    socket.frames.length = 0
    socket.send({ id: 'c1', cmd: 'pwd; echo $A; id -un', cwd: '/tmp', env: { A: 'x' }, user: 'user' })
    expect((await socket.end('c1')).exit).toBe(0)
    expect(socket.output('c1')).toBe('/tmp\nx\nuser\n')
    expect((await socket.close()).code).toBe(1005)
  })

  it('takes stdin, also what comes before the command has started, and its end', async () => {
    const socket = await open()
    socket.send({ id: 'cat', cmd: 'cat; echo done' })
    socket.send({ id: 'cat', stdin: 'ü1\n' })
    socket.send({ id: 'cat', stdin: '2\n', stdin_eof: true })
    expect((await socket.end('cat')).exit).toBe(0)
    expect(socket.output('cat')).toBe('ü1\n2\ndone\n')
    socket.send({ id: 'wc', cmd: 'wc -c' })
    for (let i = 0; i < 40; i++) socket.send({ id: 'wc', stdin: 'x'.repeat(500_000) })
    socket.send({ id: 'wc', stdin_eof: true })
    expect((await socket.end('wc')).exit).toBe(0)
    expect(Number(socket.output('wc'))).toBe(20_000_000)
    await socket.close()
  })

  it('takes and sends bytes in base64, and refuses other text as stdin', async () => {
    const socket = await open()
    socket.send({ id: 'cat', argv: ['cat'], encoding: 'base64' })
    socket.send({ id: 'cat', stdin: 'AP8=' })
    await until('the bytes', () => socket.output('cat') === 'AP8=')
    socket.send({ id: 'cat', stdin: 'no base64' })
    expect(await socket.end('cat')).toEqual({ id: 'cat', error: 'stdin must be base64' })
    socket.send({ id: 'cat', stdin_eof: true })
    await until('the exit', () => socket.frames.some((frame) => frame['exit'] === 0))
    await socket.close()
  })

  it('signals, cancels and times out', async () => {
    const socket = await open()
    socket.send({ id: 'int', cmd: 'trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.02; done' })
    await until('the trap', () => socket.output('int') === 'ready\n')
    socket.send({ id: 'int', signal: 'SIGINT' })
    expect((await socket.end('int')).exit).toBe(7)
    socket.send({ id: 'sleep', cmd: 'echo on; sleep 7201 & sleep 7201' })
    await until('the sleep', () => socket.output('sleep') === 'on\n')
    socket.send({ id: 'sleep', cancel: true })
    expect((await socket.end('sleep')).exit).toBe(137)
    socket.send({ id: 'slow', cmd: 'sleep 7201', timeout_seconds: 1 })
    expect(await socket.end('slow')).toEqual({ id: 'slow', error: 'command timeout after 1s' })
    await until('no sleep left', async () => !(await running('sleep 7201')))
    await socket.close()
  })

  it('answers every wrong frame, and stays open', async () => {
    const socket = await open()
    socket.send({ id: 'busy', cmd: 'cat' })
    const wrong: [unknown, unknown][] = [
      ['{', { id: '', error: expect.stringMatching(/^bad json: /) }],
      ['[]', { id: '', error: 'bad json: not an object' }],
      ['null', { id: '', error: 'bad json: not an object' }],
      ['"x"', { id: '', error: 'bad json: not an object' }],
      [Buffer.from('{"id":"a","cmd":"true"}'), { id: '', error: 'frames are text' }],
      ['x'.repeat(1024 * 1024 + 1), { id: '', error: 'frame too large: at most 1048576 bytes' }],
      [{ cmd: 'true' }, { id: '', error: 'id required' }],
      [
        { id: '', cmd: 'true' },
        { id: '', error: 'id required' },
      ],
      [
        { id: 7, cmd: 'true' },
        { id: '', error: 'id must be a string' },
      ],
      [
        { id: 'x'.repeat(129), cmd: 'true' },
        { id: '', error: 'id must be at most 128 characters' },
      ],
      [{ id: 'a' }, { id: 'a', error: 'frame asks for nothing: cmd, argv, stdin, stdin_eof, signal or cancel' }],
      [
        { id: 'a', cmd: 7 },
        { id: 'a', error: 'cmd must be a string' },
      ],
      [
        { id: 'a', cmd: '' },
        { id: 'a', error: 'cmd required' },
      ],
      [
        { id: 'a', cmd: 'true', timeout_seconds: 'x' },
        { id: 'a', error: 'timeout_seconds must be an integer' },
      ],
      [
        { id: 'a', cmd: 'true', env: 1 },
        { id: 'a', error: 'env must be a string map' },
      ],
      [
        { id: 'a', cmd: 'true', background: true },
        { id: 'a', error: 'background is for exec and exec/stream' },
      ],
      [
        { id: 'a', cmd: 'true', cwd: '/no/such' },
        { id: 'a', error: expect.stringContaining('cwd') },
      ],
      [
        { id: 'a', stdin: 'x' },
        { id: 'a', error: 'no such command' },
      ],
      [
        { id: 'a', cancel: true },
        { id: 'a', error: 'no such command' },
      ],
      [
        { id: 'busy', cmd: 'true' },
        { id: 'busy', error: 'id is in use' },
      ],
      [
        { id: 'busy', stdin: 7 },
        { id: 'busy', error: 'stdin must be a string' },
      ],
      [
        { id: 'busy', signal: 'SIGNOTHING' },
        { id: 'busy', error: expect.stringMatching(/^signal must be one of SIGHUP/) },
      ],
      [
        { id: 'busy', cancel: 'yes' },
        { id: 'busy', error: 'cancel must be true' },
      ],
    ]
    for (const [frame, answer] of wrong) {
      socket.frames.length = 0
      socket.send(frame)
      await until(`an answer to ${JSON.stringify(frame).slice(0, 80)}`, () => socket.frames.length > 0)
      expect(socket.frames).toEqual([answer])
    }
    socket.send({ id: 'busy', stdin: 'still here', stdin_eof: true })
    await until('the echo', () => socket.output('busy') === 'still here')
    await socket.close()
  })

  it('bounds the commands of one socket', { tags: ['faults'] }, async () => {
    const socket = await open()
    for (let i = 0; i < 129; i++) socket.send({ id: `n${i}`, cmd: 'cat' })
    expect((await socket.end('n128')).error).toBe('too many commands: at most 128 on one socket')
    socket.send({ id: 'n0', stdin_eof: true })
    expect((await socket.end('n0')).exit).toBe(0)
    await socket.close()
    await until('none left', async () => !(await running('cat')))
  })

  it('survives any frames whatever', async () => {
    const socket = await open()
    const word = fc.constantFrom(
      'id',
      'cmd',
      'stdin',
      'stdin_eof',
      'signal',
      'cancel',
      'env',
      'cwd',
      'user',
      'timeout_seconds',
      '__proto__',
    )
    const value = fc.oneof(
      fc.constantFrom('a', 'b', 'true', 'SIGKILL', '', true, null, -1, 1e300),
      fc.jsonValue({ maxDepth: 2 }),
    )
    const frame = fc.oneof(
      fc.dictionary(word, value).map((fields) => JSON.stringify(fields)),
      fc.string(),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    )
    for (const each of fc.sample(frame, { numRuns: 600, seed: 11 })) socket.send(each)
    socket.send({ id: 'last', cmd: 'echo alive' })
    await socket.end('last')
    expect(socket.output('last')).toBe('alive\n')
    await socket.close()
  })

  it('closes at a frame that is larger than any may be', async () => {
    const socket = await open()
    socket.send('x'.repeat(17 * 1024 * 1024))
    expect((await socket.hungUp()).code).toBe(1009)
    expect((await offshoot.exec(id, 'echo served')).stdout).toBe('served\n')
  })

  it('kills all when it closes, and when the caller is cut off', async () => {
    for (const ends of ['close', 'terminate'] as const) {
      const socket = await open()
      socket.send({ id: '1', cmd: 'echo on; sleep 7202 & sleep 7202' })
      await until('the command', () => socket.output('1') === 'on\n')
      expect(await running('sleep 7202')).toBe(true)
      socket.socket[ends]()
      await until('no sleep left', async () => !(await running('sleep 7202')))
    }
  })

  it('holds commands back while the caller does not read, and loses nothing', { tags: ['long'] }, async () => {
    const socket = await open()
    socket.socket.pause()
    socket.send({ id: 'much', cmd: 'head -c 30000000 /dev/zero | tr "\\0" x; echo >> /tmp/much' })
    await offshoot.exec(id, 'sleep 1')
    expect((await offshoot.exec(id, 'cat /tmp/much')).exit_code).not.toBe(0)
    socket.socket.resume()
    expect((await socket.end('much')).exit).toBe(0)
    expect(socket.output('much')).toHaveLength(30_000_000)
    await socket.close()
  })

  it('is pinged, and stays open while nothing is said', { tags: ['long'] }, async () => {
    await until('a ping', () => quiet.pings > 0)
    quiet.send({ id: '1', cmd: 'echo on' })
    expect((await quiet.end('1')).exit).toBe(0)
    await quiet.close()
  })

  it('closes with 1012 when the agent is killed, and the next one serves', { tags: ['faults'] }, async () => {
    const socket = await open()
    socket.send({ id: '1', cmd: 'echo on; sleep 7203' })
    await until('the command', () => socket.output('1') === 'on\n')
    const killed = offshoot.killService('agent')
    expect(await socket.hungUp()).toEqual({ code: 1012, reason: 'agent unreachable' })
    await killed
    const next = await open()
    next.send({ id: '1', cmd: 'echo again' })
    await next.end('1')
    expect(next.output('1')).toBe('again\n')
    await next.close()
  })
})
