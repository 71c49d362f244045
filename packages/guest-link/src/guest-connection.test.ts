import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { GuestLink } from './link.ts'
import { HostGuest, patience } from './testing/host-guest.ts'

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
  server = createServer({ allowHalfOpen: true }, onConnection).listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const answer = async (socket: Socket) => socket.end(`${await text(socket)}, and the answer`)

it.each(['127.0.0.1', '::1'])('reaches a server that listens on %s, and each half ends by itself', async (host) => {
  const port = await listen((socket) => void answer(socket), host)
  const connection = await link.dial(port, patience('connection'))
  connection.stderr.resume()
  connection.stdin.end('a question')
  expect(await text(connection.stdout)).toBe('a question, and the answer')
  expect(await connection.exited).toEqual({ exitCode: 0, signal: null })
})

it('carries both directions whole at the same time, however slow one of them is', async () => {
  const port = await listen((socket) => void socket.pipe(socket))
  const connection = await link.dial(port, patience('connection'))
  connection.stderr.resume()
  const sent = randomBytes(8 * 1024 * 1024)
  connection.stdin.end(sent)
  const received = await buffer(connection.stdout)
  expect(received.equals(sent)).toBe(true)
})

it('still brings the last words of a server that listens no more', async () => {
  const port = await listen((socket) => {
    socket.end('go away')
    socket.resume()
  })
  const connection = await link.dial(port, patience('connection'))
  connection.stderr.resume()
  connection.stdin.on('error', () => undefined)
  connection.stdin.write(randomBytes(100_000))
  expect(await text(connection.stdout)).toBe('go away')
})

it('is refused where nobody listens, and takes no port that is none', async () => {
  const port = await listen(() => undefined)
  server?.close()
  for (const [asked, reason] of [
    [port, 'Connection refused'],
    [0, 'Invalid argument'],
    [65_536, 'Invalid argument'],
  ] as const) {
    const connection = await link.dial(asked, patience('connection'))
    const why = text(connection.stderr)
    expect(await text(connection.stdout)).toBe('')
    expect((await connection.exited).exitCode).toBe(1)
    expect(await why).toContain(reason)
  }
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
  await link.dial(port, patience('connection'))
  link.close()
  link = await guest.connect()
  await patience('end of the connection').race(closed.promise)
  expect(server?.listening).toBe(true)
})
