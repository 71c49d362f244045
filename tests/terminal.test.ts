import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'
import { TestSocket } from './setup/web-socket.ts'

let offshoot: Offshoot
let id: string
let baseId: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create()).id
  baseId = (await offshoot.create({ template: 'base' })).id
})
afterAll(giveBack)

const open = async (query = '', of = id) => TestSocket.open(offshoot, `/v1/sandboxes/${of}/exec/pty${query}`)
const command = (cmd: string, more = '') => `?cmd=${encodeURIComponent(cmd)}${more}`
const type = (socket: TestSocket, text: string) => socket.send(Buffer.from(text))
const running = async (word: string) =>
  Number((await offshoot.exec(id, `ps | grep -v grep | grep -c '${word}' || true`)).stdout) > 0

describe('exec/pty', () => {
  it('is a terminal of the size asked for, with TERM and UTF-8, and says how it ended', async () => {
    const socket = await open(command('stty size; echo $TERM; read line; echo "<$line>"; exit 7', '&rows=33&cols=101'))
    await socket.shows(/33 101\r\nxterm-256color\r\n/)
    type(socket, 'grüße\n')
    await socket.shows(/<grüße>\r\n/)
    expect(await socket.hungUp()).toEqual({ code: 1000, reason: '' })
    expect(socket.frames).toEqual([{ exit: 7 }])
  })

  it('starts a login shell: bash where there is one, else sh', async () => {
    for (const [of, name] of [
      [baseId, '-bash'],
      [id, '-sh'],
    ] as const) {
      const socket = await open('?user=user', of)
      type(socket, 'echo "$0" $(id -un) $(stty size)\n')
      await socket.shows(`${name} user 24 80\r\n`)
      type(socket, 'exit 3\n')
      await socket.hungUp()
      expect(socket.frames).toEqual([{ exit: 3 }])
    }
  })

  it('takes resize and stdin in text frames, and answers what is neither', async () => {
    const socket = await open(command('trap "stty size" WINCH; echo ready; while :; do sleep 0.02; done'))
    await socket.shows('ready')
    socket.send({ resize: { rows: 50, cols: 132 } })
    await socket.shows(/50 132\r\n/)
    const wrong = [
      '{',
      '[]',
      '7',
      '{"resize":{"rows":0,"cols":1}}',
      '{"resize":7}',
      '{"resize":{"rows":24}}',
      '{"stdin":7}',
    ]
    for (const frame of wrong) socket.send(frame)
    await until('the answers', () => socket.frames.length === wrong.length)
    expect(socket.frames.every(({ error }) => typeof error === 'string')).toBe(true)
    socket.send({ stdin: '\u0003' })
    await socket.hungUp()
    expect(socket.frames.at(-1)).toEqual({ exit: 130 })
  })

  it('interrupts the foreground by Ctrl-C, and ends at Ctrl-D', async () => {
    const socket = await open('', baseId)
    type(socket, 'sleep 1000; echo "was $?"\n')
    await until('sleep to run', async () => (await offshoot.exec(baseId, 'pgrep -x sleep || true')).stdout !== '')
    type(socket, '\u0003')
    await until('sleep to end', async () => (await offshoot.exec(baseId, 'pgrep -x sleep || true')).stdout === '')
    type(socket, 'echo "last $?"\n')
    // Wait for the prompt: before it, the terminal itself would interpret Ctrl-D.
    await socket.shows(/last 130\r\n[^]*[#$] $/)
    type(socket, '\u0004')
    await socket.hungUp()
    expect(socket.frames).toEqual([{ exit: expect.any(Number) }])
  })

  it('carries programs of the whole screen', { tags: ['long'] }, async () => {
    const vi = await open(command('vi /tmp/note', '&rows=20&cols=60'))
    await vi.shows('note')
    type(vi, 'ihello vi\u001b')
    await vi.shows('hello vi')
    type(vi, ':wq\n')
    await vi.hungUp()
    expect(vi.frames).toEqual([{ exit: 0 }])
    expect((await offshoot.exec(id, 'cat /tmp/note')).stdout).toBe('hello vi\n')
    const top = await open(command('top', '&rows=15&cols=70'))
    await top.shows(/PID/)
    type(top, 'q')
    await top.hungUp()
    const python = await open(command('python3 -q'), baseId)
    await python.shows('>>> ')
    type(python, '6 * 7\n')
    // Wait for the prompt: before it, the terminal itself would interpret Ctrl-D.
    await python.shows(/\n42\r\n>>> /)
    type(python, '\u0004')
    await python.hungUp()
    expect(python.frames).toEqual([{ exit: 0 }])
  })

  it('survives any frames whatever', async () => {
    const socket = await open(command('stty raw -echo; echo ready; head -c 40000 >/dev/null; echo alive'))
    await socket.shows('ready')
    const frame = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.string(),
      fc.json({ maxDepth: 2 }),
      fc.record({ resize: fc.jsonValue({ maxDepth: 2 }), stdin: fc.jsonValue({ maxDepth: 1 }) }),
    )
    for (const each of fc.sample(frame, { numRuns: 600, seed: 12 })) socket.send(each)
    socket.send(Buffer.alloc(40_000, 'x'))
    await socket.shows('alive')
    await socket.hungUp()
    expect(socket.frames.at(-1)).toEqual({ exit: 0 })
  })

  it('ends its program when the caller leaves', async () => {
    const socket = await open(command('echo on; sleep 7301'))
    await socket.shows('on')
    socket.socket.terminate()
    await until('no sleep left', async () => !(await running('sleep 7301')))
  })

  it('exists 50 times on one sandbox, each with its own echo', { tags: ['long'] }, async () => {
    const sockets = await Promise.all(
      Array.from({ length: 50 }, async () => open(command('read line; echo "<$line>"'))),
    )
    for (const [i, socket] of sockets.entries()) type(socket, `typed ${i}\n`)
    await Promise.all(sockets.map(async (socket, i) => socket.shows(`<typed ${i}>`)))
    const ends = await Promise.all(sockets.map(async (socket) => socket.hungUp()))
    expect(new Set(ends.map(({ code }) => code))).toEqual(new Set([1000]))
  })

  it.each([
    ['rows=0', 'rows must be >= 1'],
    ['cols=x', 'cols must be an integer'],
    ['rows=1001', 'rows must be <= 1000'],
    ['rows=1&rows=2', 'rows must be given once'],
    ['session=a/b', 'session must match [A-Za-z0-9._-]{1,48}'],
    ['user=nobody-of-that-name', expect.stringContaining('user')],
    ['cwd=/no/such/folder', expect.stringContaining('cwd')],
    ['cmd=a%00b', expect.stringContaining('NUL')],
  ])('refuses %s with plain JSON before the upgrade', async (query, error) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    }
    const answer = await offshoot.request('GET', `/v1/sandboxes/${id}/exec/pty?${query}`, { headers })
    expect([answer.status, answer.body.error]).toEqual([400, error])
  })
})

describe('a session', () => {
  it('goes on when its caller leaves, and shows what was on the screen', async () => {
    const first = await open('?session=one')
    type(first, 'X=kept; echo "mark $X"\n')
    await first.shows(/mark kept\r\n/)
    await first.close()
    const second = await open('?session=one&rows=40&cols=90')
    await second.shows(/mark kept\r\n/)
    type(second, 'echo "still $X" $(stty size)\n')
    await second.shows(/still kept 40 90\r\n/)
    expect((await second.close()).code).toBe(1005)
  })

  it('is shared by several callers; the size is the last one’s', async () => {
    const one = await open('?session=two')
    const other = await open('?session=two&rows=30&cols=70')
    type(one, 'stty size\n')
    await one.shows(/30 70\r\n/)
    await other.shows(/30 70\r\n/)
    one.send({ resize: { rows: 31, cols: 71 } })
    type(other, 'stty size; exit 4\n')
    await one.shows(/31 71\r\n/)
    for (const socket of [one, other]) {
      await socket.hungUp()
      expect(socket.frames).toEqual([{ exit: 4 }])
    }
    const next = await open(`?session=two&cmd=${encodeURIComponent('echo new; read line')}`)
    await next.shows('new')
    expect(next.bytes.toString()).not.toContain('31 71')
    type(next, '\n')
    await next.hungUp()
  })

  it('makes room for the next when it is over', { tags: ['faults'] }, async () => {
    for (let i = 0; i < 70; i++) {
      const socket = await open(`?session=many-${i}&cmd=true`)
      await socket.hungUp()
      expect(socket.frames).toEqual([{ exit: 0 }])
    }
  })

  it('outlives the agent', { tags: ['faults'] }, async () => {
    const first = await open('?session=three')
    type(first, 'Y=$((40+2)); echo "is $Y"\n')
    await first.shows(/is 42\r\n/)
    const killed = offshoot.killService('agent')
    expect(await first.hungUp()).toEqual({ code: 1012, reason: 'agent unreachable' })
    await killed
    const second = await open('?session=three')
    type(second, 'echo "and still $Y"\n')
    await second.shows(/and still 42\r\n/)
    type(second, 'exit\n')
    await second.hungUp()
  })
})
