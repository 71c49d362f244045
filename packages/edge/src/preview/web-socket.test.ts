/** WebSockets pass through the edge unchanged. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { patience, until } from '../test/edge-under-test.ts'
import { serveEdge } from '../test/serve-edge.ts'

/** MiB of one message. For the full run: OFFSHOOT_WEBSOCKET_MIB=100. */
const MIB = Number(process.env['OFFSHOOT_WEBSOCKET_MIB'] ?? 8)

const here = serveEdge()
let sockets: WebSocketServer
let onSocket: (socket: WebSocket, request: IncomingMessage) => void

beforeAll(() => {
  sockets = new WebSocketServer({ noServer: true, maxPayload: 256 * 1024 * 1024, perMessageDeflate: true })
  here.server.on('upgrade', (request, socket, head) => {
    if (request.url === '/refused') socket.end('HTTP/1.1 403 No\r\ncontent-length: 4\r\nx-why: 1\r\n\r\nnope')
    else sockets.handleUpgrade(request, socket, head, (open) => onSocket(open, request))
  })
})

afterAll(() => sockets.close())

beforeEach(() => {
  onSocket = (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
})

function dial(path = '/', protocols: string[] = [], headers: Record<string, string> = {}): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${here.edge.port}${path}`, protocols, {
    headers: { host: here.edge.host(here.port), ...headers },
    maxPayload: 256 * 1024 * 1024,
  })
  return socket.on('error', () => undefined)
}

async function open(...how: Parameters<typeof dial>): Promise<WebSocket> {
  const socket = dial(...how)
  await patience('an open socket').race(once(socket, 'open'))
  return socket
}

describe('a WebSocket', () => {
  it(
    'carries text, bytes and large messages both ways, extensions and protocol as agreed',
    { tags: ['faults'] },
    async () => {
      const socket = await open('/', ['vite-hmr', 'other'])
      expect([socket.protocol, socket.extensions]).toEqual(['vite-hmr', 'permessage-deflate'])
      for (const message of ['text', randomBytes(10), Buffer.alloc(0), randomBytes(MIB * 1024 * 1024)]) {
        socket.send(message)
        const [data, isBinary] = (await patience('an echo').race(once(socket, 'message'))) as [Buffer, boolean]
        expect(isBinary).toBe(typeof message !== 'string')
        expect(data.equals(Buffer.from(message))).toBe(true)
      }
      socket.close()
    },
  )

  it.each([1000, 1001, 1011, 3000, 4999])('closes with %i as it was closed, from either side', async (code) => {
    const heard = Promise.withResolvers<[number, string]>()
    onSocket = (socket) => socket.on('close', (got, reason) => heard.resolve([got, String(reason)]))
    const ours = await open()
    ours.close(code, 'we go')
    expect(await patience('the close').race(heard.promise)).toEqual([code, 'we go'])

    onSocket = (socket) => socket.close(code, 'they go')
    const [got, reason] = (await patience('the close').race(once(await open(), 'close'))) as [number, Buffer]
    expect([got, String(reason)]).toEqual([code, 'they go'])
  })

  it('is pinged by the server itself', async () => {
    const ponged = Promise.withResolvers<string>()
    onSocket = (socket) => {
      socket.on('pong', (data) => ponged.resolve(String(data)))
      socket.ping('are you there')
    }
    const socket = await open()
    expect(await patience('a pong').race(ponged.promise)).toBe('are you there')
    socket.close()
  })

  it('that is lost on one side is lost on the other', async () => {
    const inside: WebSocket[] = []
    onSocket = (socket) => inside.push(socket.on('error', () => undefined))
    const lost = await open()
    const told = once(lost, 'close') as Promise<[number]>
    inside[0]?.terminate()
    expect((await patience('the loss').race(told))[0]).toBe(1006)

    const left = await open()
    left.terminate()
    await until('the server to be left', () => inside[1]?.readyState === WebSocket.CLOSED)
  })

  it('that is refused is answered like any other request', async () => {
    const [, response] = (await once(dial('/refused'), 'unexpected-response')) as [unknown, IncomingMessage]
    expect([response.statusCode, response.headers['x-why']]).toEqual([403, '1'])
    response.destroy()
    const { port } = here
    here.port = 1
    const [, nothing] = (await once(dial(), 'unexpected-response')) as [unknown, IncomingMessage]
    here.port = port
    expect(nothing.statusCode).toBe(502)
    nothing.destroy()
  })

  it('brings no credential of ours', async () => {
    const asked = Promise.withResolvers<IncomingMessage>()
    onSocket = (_socket, request) => asked.resolve(request)
    const socket = await open('/?access_token=ofs_secret&b=1', [], { authorization: 'Bearer ofs_secret' })
    const { url, headers } = await asked.promise
    expect([url, headers.authorization, headers['x-forwarded-for']]).toEqual(['/?b=1', undefined, '127.0.0.1'])
    socket.terminate()
  })

  it('counts as a request of its sandbox for as long as it is open', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => open()))
    expect((await here.edge.ask(here.port)).status).toBe(429)
    for (const socket of all) socket.terminate()
    await until('the edge to be free again', async () => (await here.edge.ask(here.port)).status === 200)
  })

  it('that another protocol is asked for is a request without upgrade', async () => {
    here.answer = (request, response) => response.end(String(request.headers.upgrade))
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }
    expect((await here.edge.ask(here.port, '/', { headers })).body).toBe('undefined')
  })
})
