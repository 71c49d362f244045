import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { constants } from 'node:os'
import { text } from 'node:stream/consumers'
import { FrameType } from '@offshoot/contract/guest-frame'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { GuestConnection, GuestListener } from './guest-connection.ts'
import type { GuestLink } from './link.ts'
import { deadlineFor, HostGuest } from './testing/host-guest.ts'
import { RawHost } from './testing/raw-host.ts'

let guest: HostGuest
let link: GuestLink

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  await guest.stop()
  link.close()
})

const listen = (address = '127.0.0.1', port = 0) => link.ports.listen(address, port, deadlineFor('a listener'))

async function knock(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, allowHalfOpen: true })
  await deadlineFor('connection').race(once(socket, 'connect'))
  return socket
}

async function next({ connections }: GuestListener): Promise<GuestConnection> {
  const { value } = await deadlineFor('an accepted connection').race(connections[Symbol.asyncIterator]().next())
  if (value === undefined) throw new Error('the listener has ended')
  return value
}

it.each(['127.0.0.1', '::1'])('serves the clients of a port at %s, each half separately', async (address) => {
  const listener = await listen(address)
  const client = await knock(address, listener.port)
  const connection = await next(listener)
  expect(connection.peer).toEqual({ address, port: (client.address() as AddressInfo).port })
  client.end('a question')
  expect(await text(connection.output)).toBe('a question')
  connection.input.end('an answer')
  expect(await text(client)).toBe('an answer')
  await connection.closed
})

it('misses no client, however many come at once', async () => {
  const listener = await listen()
  const served = (async () => {
    let count = 0
    for await (const { input } of listener.connections) {
      input.end('hello')
      count += 1
      if (count === 100) break
    }
  })()
  const answers = Array.from({ length: 100 }, async () => text(await knock('127.0.0.1', listener.port)))
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 100 }, () => 'hello'))
  await served
})

it('frees its port when it is closed, and keeps accepted connections', async () => {
  const listener = await listen()
  const client = await knock('127.0.0.1', listener.port)
  const connection = await next(listener)
  listener.close()
  listener.close()
  await link.ping(deadlineFor('ping'))
  const again = await listen('127.0.0.1', listener.port)
  expect(again.port).toBe(listener.port)
  connection.input.end('still here')
  expect(await text(client)).toBe('still here')
  for await (const each of listener.connections) expect(each).toBeUndefined()
})

it('ends with its link, and so does its port', async () => {
  const { port, connections } = await listen()
  link.close()
  for await (const each of connections) expect(each).toBeUndefined()
  link = await guest.connect()
  expect((await listen('127.0.0.1', port)).port).toBe(port)
})

it('refuses a port in use, an address of another machine, and more than 64 listeners', async () => {
  const first = await listen()
  const { EADDRINUSE, EADDRNOTAVAIL, EAGAIN } = constants.errno
  await expect(listen('127.0.0.1', first.port)).rejects.toMatchObject({ errno: EADDRINUSE })
  await expect(listen('192.0.2.1')).rejects.toMatchObject({ errno: EADDRNOTAVAIL })
  await Promise.all(Array.from({ length: 63 }, () => listen()))
  await expect(listen()).rejects.toMatchObject({ errno: EAGAIN })
  first.close()
  await listen()
})

it.each([
  ['localhost', 80],
  ['127.0.0.1', 65_536],
  ['fe80::1%eth0', 80],
  ['::', -1],
])('refuses %s port %i without asking the guest', async (address, port) => {
  await expect(listen(address, port)).rejects.toThrow(RangeError)
  await expect(link.ports.connect(address, port, deadlineFor('connection'))).rejects.toThrow(RangeError)
})

it.each(['127.0.0.2', '::1'])('connects to %s and to no other address', async (address) => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void text(socket).then((question) => socket.end(`${question}, and the answer`))
  }).listen(0, address)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = await link.ports.connect(address, port, deadlineFor('connection'))
  expect(connection.peer).toBeNull()
  connection.input.end('a question')
  expect(await text(connection.output)).toBe('a question, and the answer')
  await expect(link.ports.connect('127.0.0.3', port, deadlineFor('connection'))).rejects.toMatchObject({
    errno: constants.errno.ECONNREFUSED,
  })
  server.close()
})

it.each([
  ['a CONNECT without an address', FrameType.connect, 3, '\x01\x02'],
  ['a LISTEN with half an address', FrameType.listen, 3, '\x01\x02\x7f\0'],
  ['a LISTEN on stream 0', FrameType.listen, 0, '\0\0\x7f\0\0\x01'],
  ['a LISTEN on a live stream', FrameType.listen, 1, '\0\0\x7f\0\0\x01'],
  ['an ACCEPT without a listener', FrameType.accept, 3, ''],
  ['an ACCEPT on a live stream', FrameType.accept, 1, '\x01\0\0\0'],
  ['STDIN for a listener', FrameType.stdin, 1, 'x'],
])('%s breaks the protocol, and the guest serves the next host', async (_what, type, stream, payload) => {
  const raw = await RawHost.connect(guest.socketPath)
  link.close()
  await raw.hello()
  raw.send(FrameType.listen, 1, Uint8Array.of(0, 0, 127, 0, 0, 1))
  await raw.expect(FrameType.listening)
  raw.send(type, stream, Buffer.from(payload, 'latin1'))
  expect((await raw.expect(FrameType.reset)).stream).toBe(0)
  await raw.die()
  link = await guest.connect()
  await link.ping(deadlineFor('ping'))
})

it.each([
  ['when no client waits', '\x01\0\0\0', constants.errno.EAGAIN],
  ['of an unknown listener', '\x09\0\0\0', constants.errno.ENOENT],
])('answers an ACCEPT %s', async (_what, payload, errno) => {
  const raw = await RawHost.connect(guest.socketPath)
  link.close()
  await raw.hello()
  raw.send(FrameType.listen, 1, Uint8Array.of(0, 0, 127, 0, 0, 1))
  await raw.expect(FrameType.listening)
  raw.send(FrameType.accept, 2, Buffer.from(payload, 'latin1'))
  expect((await raw.expect(FrameType.failed)).payload[0]).toBe(errno)
  await raw.die()
  link = await guest.connect()
})
