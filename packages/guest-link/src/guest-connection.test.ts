import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { constants } from 'node:os'
import { buffer, text } from 'node:stream/consumers'
import { FrameType } from '@offshoot/contract/guest-frame'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { RawHost } from './testing/raw-host.ts'
import { until } from './testing/observe.ts'

let guest: HostGuest
let link: GuestLink
let server: Server | undefined

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  await guest.stop()
  link.close()
  server?.close()
  server = undefined
})

async function listen(onConnection: (socket: Socket) => void, host = '127.0.0.1'): Promise<number> {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    onConnection(socket)
  }).listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const answer = async (socket: Socket) => socket.end(`${await text(socket)}, and the answer`)

it.each(['127.0.0.1', '::1'])('reaches a server that listens on %s, and ends each half separately', async (host) => {
  const port = await listen((socket) => void answer(socket), host)
  const connection = await link.ports.dial(port, deadlineFor('connection'))
  connection.input.end('a question')
  expect(await text(connection.output)).toBe('a question, and the answer')
  await connection.closed
})

it('carries both directions completely at the same time', async () => {
  const port = await listen((socket) => void socket.pipe(socket))
  const connection = await link.ports.dial(port, deadlineFor('connection'))
  const sent = randomBytes(8 * 1024 * 1024)
  connection.input.end(sent)
  const received = await buffer(connection.output)
  expect(received.equals(sent)).toBe(true)
})

it('delivers the last bytes of a server that reads no more', async () => {
  const port = await listen((socket) => {
    socket.end('go away')
    socket.resume()
  })
  const connection = await link.ports.dial(port, deadlineFor('connection'))
  connection.input.on('error', () => undefined)
  connection.input.write(randomBytes(100_000))
  expect(await text(connection.output)).toBe('go away')
})

it('still sends to a server that has ended its half', async () => {
  const heard = Promise.withResolvers<string>()
  const port = await listen((socket) => {
    socket.end('no more from me')
    heard.resolve(text(socket))
  })
  const connection = await link.ports.dial(port, deadlineFor('connection'))
  expect(await text(connection.output)).toBe('no more from me')
  connection.input.end('but from me')
  expect(await deadlineFor('the rest').race(heard.promise)).toBe('but from me')
  await connection.closed
})

it('fails with ECONNREFUSED when no server listens, and refuses an invalid port', async () => {
  const port = await listen(() => undefined)
  server?.close()
  await expect(link.ports.dial(port, deadlineFor('connection'))).rejects.toMatchObject({
    errno: constants.errno.ECONNREFUSED,
  })
  for (const wrong of [0, -1, 1.5, 65_536]) {
    await expect(link.ports.dial(wrong, deadlineFor('connection'))).rejects.toThrow(RangeError)
  }
})

it('passes a reset to either side', async () => {
  const servers: Socket[] = []
  const port = await listen((socket) => {
    servers.push(socket)
  })
  const reset = await link.ports.dial(port, deadlineFor('connection'))
  await until('the first connection', () => servers.length === 1)
  servers[0]?.resetAndDestroy()
  await expect(deadlineFor('reset').race(reset.closed)).rejects.toMatchObject({ errno: constants.errno.ECONNRESET })
  expect(reset.output.destroyed && reset.input.destroyed).toBe(true)

  const given = await link.ports.dial(port, deadlineFor('connection'))
  await until('the second connection', () => servers.length === 2)
  const told = once(servers[1] as Socket, 'error') as Promise<[NodeJS.ErrnoException]>
  given.abort()
  given.abort()
  expect((await deadlineFor('reset').race(told))[0].code).toBe('ECONNRESET')
  await expect(given.closed).rejects.toMatchObject({ errno: constants.errno.ECONNABORTED })
})

it('makes only the server wait whose output is not read', async () => {
  let written = 0
  const port = await listen((socket) => {
    const chunk = randomBytes(64 * 1024)
    const write = () => {
      while (socket.writableLength < 1024 * 1024) {
        socket.write(chunk)
        written += chunk.length
      }
    }
    socket.on('drain', write)
    write()
  })
  const slow = await link.ports.dial(port, deadlineFor('connection'))
  slow.output.once('readable', () => undefined)
  let before = -1
  await until('the server to wait', async () => {
    const stands = written === before
    before = written
    for (let i = 0; i < 20; i++) await link.ping(deadlineFor('ping'))
    return stands
  })
  const other = await link.ports.dial(port, deadlineFor('connection'))
  expect(String(await once(other.output, 'data'))).not.toBe('')
  for (const each of [slow, other]) each.abort()
})

it('512 connections at once; one more fails with EAGAIN until one has ended', async () => {
  const port = await listen(() => undefined)
  const all = await Promise.all(Array.from({ length: 512 }, () => link.ports.dial(port, deadlineFor('connection'))))
  await expect(link.ports.dial(port, deadlineFor('connection'))).rejects.toMatchObject({
    errno: constants.errno.EAGAIN,
  })
  all[77]?.abort()
  await link.ports.dial(port, deadlineFor('connection'))
})

it('dial and listeners wait while the machine is held', async () => {
  const port = await listen((socket) => void answer(socket))
  await link.hold(deadlineFor('hold'))
  link.close()
  link = await guest.connect()
  await expect(link.ports.listeners(deadlineFor('listeners'))).rejects.toMatchObject({ errno: constants.errno.EAGAIN })
  await link.hold(deadlineFor('hold'))
  const dialled = link.ports.dial(port, deadlineFor('connection'))
  const listed = link.ports.listeners(deadlineFor('listeners'))
  await link.release({ time: new Date(), entropy: randomBytes(64) }, deadlineFor('release'))
  const connection = await dialled
  connection.input.end('late')
  expect(await text(connection.output)).toBe('late, and the answer')
  expect(await listed).toContain(port)
})

it.each([
  ['a DIAL without a port', FrameType.dial, 3, ''],
  ['a DIAL on stream 0', FrameType.dial, 0, '\x01\x02'],
  ['a DIAL on a live stream', FrameType.dial, 1, '\x01\x02'],
  ['a KILL of a connection', FrameType.kill, 1, '\x09'],
  ['a RESIZE of a connection', FrameType.resize, 1, '\0\0\0\0'],
  ['CREDIT beyond the window', FrameType.credit, 1, '\x01\xff\xff\xff\xff'],
  ['CREDIT for stderr, which a connection does not have', FrameType.credit, 1, '\x02\0\0\0\0'],
])('%s breaks the protocol, and the guest serves the next host', async (_what, type, stream, payload) => {
  const port = await listen(() => undefined)
  const raw = await RawHost.connect(guest.socketPath)
  link.close()
  await raw.hello()
  raw.send(FrameType.dial, 1, Uint8Array.of(port & 255, port >> 8))
  await raw.expect(FrameType.connected)
  raw.send(type, stream, Buffer.from(payload, 'latin1'))
  expect((await raw.expect(FrameType.reset)).stream).toBe(0)
  await raw.die()
  link = await guest.connect()
  await link.ping(deadlineFor('ping'))
})

it('lists every port on which a server listens at a loopback address', async () => {
  const reachable = await listen(() => undefined)
  const first = server
  expect(await link.ports.listeners(deadlineFor('listeners'))).toContain(reachable)
  const six = await listen(() => undefined, '::')
  const elsewhere = createServer().listen(0, '127.0.0.2')
  await once(elsewhere, 'listening')
  const ports = await link.ports.listeners(deadlineFor('listeners'))
  expect(ports).toContain(six)
  expect(ports).toContain(reachable)
  expect(ports).not.toContain((elsewhere.address() as AddressInfo).port)
  expect(ports).toEqual(ports.toSorted((a, b) => a - b))
  elsewhere.close()
  first?.close()
  await once(first as Server, 'close')
  expect(await link.ports.listeners(deadlineFor('listeners'))).not.toContain(reachable)
})

it('ends with its link', async () => {
  const closed = Promise.withResolvers<void>()
  const port = await listen(
    (socket) =>
      void socket
        .on('close', closed.resolve)
        .resume()
        .on('end', () => socket.end()),
  )
  await link.ports.dial(port, deadlineFor('connection'))
  link.close()
  link = await guest.connect()
  await deadlineFor('end of the connection').race(closed.promise)
  expect(server?.listening).toBe(true)
})
