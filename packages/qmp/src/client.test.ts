import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { Deadline } from '@offshoot/kit/deadline'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { QmpClient } from './client.ts'
import { MAX_LINE_BYTES } from './line-transport.ts'
import type { QmpEvent } from './message.ts'
import { QmpConnectionError, QmpError } from './qmp-error.ts'

const soon = () => Deadline.after(20_000, 'test')
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qmp-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('a real QEMU', () => {
  let qemu: ChildProcess | undefined
  afterEach(async () => {
    if (!qemu || qemu.exitCode !== null || qemu.signalCode !== null) return
    qemu.kill('SIGKILL')
    await once(qemu, 'exit')
  })

  function start() {
    const chardevs = ['-chardev', 'socket,id=inherited,fd=3', '-mon', 'chardev=inherited,mode=control']
    const listening = ['-qmp', `unix:${join(folder, 'qmp.sock')},server=on,wait=off`]
    const machine = ['-M', 'none', '-S', '-nodefaults', '-display', 'none']
    const child = spawn('qemu-system-x86_64', [...machine, ...chardevs, ...listening], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    })
    qemu = child
    return { child, client: new QmpClient(child.stdio[3] as Duplex) }
  }

  it('answers commands that were sent before it started, over an inherited stream, and ends with a reason', async () => {
    const { child, client } = start()
    const ended = once(child, 'exit')
    const status = client.execute('query-status', {}, soon())
    await expect(status).resolves.toMatchObject({ running: false, status: 'prelaunch' })
    expect(client.qemuVersion).toMatch(/^\d+\.\d+\.\d+$/)
    const events: QmpEvent[] = []
    client.onEvent((event) => events.push(event))
    await client.execute('quit', {}, soon())
    await expect(client.closed).resolves.toBeInstanceOf(QmpConnectionError)
    expect(events).toContainEqual({ name: 'SHUTDOWN', data: { guest: false, reason: 'host-qmp-quit' } })
    await expect(client.execute('query-status', {}, soon())).rejects.toBeInstanceOf(QmpConnectionError)
    await ended
  })

  it('serves a second client at its socket while the first uses the inherited stream', async () => {
    const { client } = start()
    await client.ready(soon())
    const second = await QmpClient.connect(join(folder, 'qmp.sock'), soon())
    await expect(second.execute('query-status', {}, soon())).resolves.toMatchObject({ running: false })
    await expect(client.execute('query-status', {}, soon())).resolves.toMatchObject({ running: false })
    second.close()
  })

  it('refuses a command with its error class', async () => {
    const { client } = start()
    const refused = client.execute('xen-save-devices-state', { filename: '/nowhere/state', live: false }, soon())
    await expect(refused).rejects.toThrow(QmpError)
    await expect(refused).rejects.toMatchObject({ class: 'GenericError' })
  })
})

describe('a peer that misbehaves', () => {
  let server: Server
  let path: string
  const sockets: Socket[] = []
  beforeEach(async () => {
    path = join(folder, 'peer.sock')
    server = createServer((socket) => sockets.push(socket.on('error', () => undefined)))
    server.listen(path)
    await once(server, 'listening')
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    server.close()
    await once(server, 'close')
  })

  function answerEach(lines: (id: number) => string) {
    server.on('connection', (socket: Socket) => {
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString()
        const whole = text.split('\r\n')
        text = whole.pop() ?? ''
        for (const line of whole) socket.write(lines((JSON.parse(line) as { id: number }).id))
      })
    })
  }

  it('matches answers by id, in any order', async () => {
    const held: number[] = []
    answerEach((id) => {
      if (id === 1) return '{"return":{},"id":1}\n'
      held.push(id)
      return held.length < 2
        ? ''
        : held
            .toReversed()
            .map((held) => `{"return":{"nr":${held}},"id":${held}}\n`)
            .join('')
    })
    const client = await QmpClient.connect(path, soon())
    const answers = await Promise.all([client.execute('stop', {}, soon()), client.execute('cont', {}, soon())])
    expect(answers).toEqual([{ nr: 2 }, { nr: 3 }])
    client.close()
  })

  it.each([
    ['closes', '', true],
    ['closes in the middle of an answer', '{"return":', true],
    ['sends invalid JSON', 'garbage\n', false],
    ['sends JSON that is not a message', '[1]\n', false],
    ['sends an error without an id', '{"error":{"class":"GenericError","desc":"bad"}}\n', false],
    ['never ends its line', 'x'.repeat(MAX_LINE_BYTES + 2), false],
  ])('fails every pending command when it %s', async (_what, bytes, closes) => {
    answerEach((id) => (id === 1 ? '{"return":{},"id":1}\n' : ''))
    const client = await QmpClient.connect(path, soon())
    const pending = client.execute('stop', {}, soon())
    pending.catch(() => undefined)
    sockets[0]?.write(bytes)
    if (closes) sockets[0]?.end()
    await expect(pending).rejects.toBeInstanceOf(QmpConnectionError)
    await expect(client.closed).resolves.toBeInstanceOf(QmpConnectionError)
  })

  it('fails connect at its deadline', async () => {
    answerEach(() => '')
    await expect(QmpClient.connect(path, Deadline.after(20, 'greeting'))).rejects.toThrow('deadline passed: greeting')
  })

  it('sends the same messages, wherever chunks end', async () => {
    const text =
      '{"QMP":{"version":{"qemu":{"major":7,"minor":2,"micro":22}}}}\r\n{"event":"STOP","data":{"é":"ü"}}\r\n'
    const bytes = Buffer.from(`${text}{"return":{},"id":1}\r\n`)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
        const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
        const client = new QmpClient(stream)
        const events: QmpEvent[] = []
        client.onEvent((event) => events.push(event))
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        at.slice(1).forEach((end, index) => end > (at[index] ?? 0) && stream.push(bytes.subarray(at[index], end)))
        await client.ready(soon())
        expect(client.qemuVersion).toBe('7.2.22')
        expect(events).toEqual([{ name: 'STOP', data: { é: 'ü' } }])
        client.close()
      }),
    )
  })

  it('sends arbitrary bytes, and the client only reports QmpConnectionError', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 8 }), async (chunks) => {
        const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
        const client = new QmpClient(stream)
        for (const chunk of chunks) if (!stream.destroyed) stream.push(chunk)
        if (!stream.destroyed) stream.push(null)
        await expect(client.closed).resolves.toBeInstanceOf(QmpConnectionError)
      }),
    )
  })
})
