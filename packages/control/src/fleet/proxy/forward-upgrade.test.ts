// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { closeFrame } from '@offshoot/kit/web-socket-frames'

let harness: Harness
let agent: FakeAgent
let control: RunningControl
let alice: Tenant
let id: string

beforeAll(async () => {
  agent = await FakeAgent.start()
  harness = await Harness.start()
  control = await harness.control([agent])
  alice = await harness.tenant(control, 'alice')
  id = (await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })).body.id
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

const webSocket = (path = '') => `/v1/sandboxes/${id}/exec/ws${path}`

function send(
  path: string,
  {
    method = 'GET',
    token = alice.key,
    headers = {},
  }: { method?: string; token?: string; headers?: Record<string, string> } = {},
) {
  return httpRequest(control.url + path, {
    method,
    agent: false,
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
  })
}

async function answerOf(request: ReturnType<typeof send>): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

describe('an upgraded connection', () => {
  const ACCEPT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  let asked: IncomingMessage | undefined

  /** The agent accepts the upgrade and sends `frames` at once. */
  function agree(...frames: Buffer[]) {
    const taken = Promise.withResolvers<Duplex>()
    agent.onUpgrade = (request, socket) => {
      asked = request
      const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${ACCEPT}`).digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nx-request-id: agents\r\n\r\n`,
      )
      for (const frame of frames) socket.write(frame)
      taken.resolve(socket)
    }
    return taken.promise
  }

  const textFrame = (value: string) => Buffer.concat([Buffer.of(0x81, value.length), Buffer.from(value)])
  const open = (query = `?access_token=${alice.key}&rows=3`) =>
    new WebSocket(control.url.replace('http', 'ws') + webSocket(query))
  const closeOf = async (socket: WebSocket) => {
    const [event] = (await once(socket, 'close')) as [CloseEvent]
    return { code: event.code, reason: event.reason }
  }

  it('carries bytes both ways, the first ones too, and no credential', async () => {
    const taken = agree(textFrame('first'))
    const socket = open()
    const [first] = (await once(socket, 'message')) as [MessageEvent]
    expect(first.data).toBe('first')
    const agents = await taken
    expect(asked?.url).toBe(webSocket('?rows=3'))
    expect(asked?.headers.authorization).not.toContain(alice.key)
    const received = once(agents, 'data') as Promise<[Buffer]>
    socket.send('up')
    const [frame] = await received
    expect(frame.length).toBe(8)
    agents.end(closeFrame(1000, 'done'))
    expect(await closeOf(socket)).toEqual({ code: 1000, reason: 'done' })
  })

  it('ends with 1012 when the agent’s end is lost without a goodbye', async () => {
    const taken = agree(textFrame('x'))
    const socket = open()
    await once(socket, 'message')
    const closed = closeOf(socket)
    ;(await taken).destroy()
    expect(await closed).toEqual({ code: 1012, reason: 'agent unreachable' })
  })

  it('ends without a false frame when the last one is cut', async () => {
    const taken = agree(textFrame('x'), textFrame('cut').subarray(0, 3))
    const socket = open()
    await once(socket, 'message')
    const closed = closeOf(socket)
    ;(await taken).destroy()
    expect((await closed).code).toBe(1006)
  })

  it('ends at the agent when the caller goes', async () => {
    const taken = agree()
    const socket = send(webSocket(), {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      },
    })
    socket.end()
    const [response, raw] = (await once(socket, 'upgrade')) as [IncomingMessage, Socket]
    expect(response.rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id')).toHaveLength(1)
    const agents = await taken
    agents.resume()
    const ended = once(agents, 'end')
    raw.destroy()
    await expect(ended).resolves.toBeDefined()
  })

  it('is 502 when the agent does not answer', async () => {
    agent.onUpgrade = (_request, socket) => socket.destroy()
    const request = send(webSocket(), { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
    request.end()
    const response = await answerOf(request)
    expect(response.statusCode).toBe(502)
    expect(JSON.parse(await text(response))).toEqual({ error: 'agent unreachable' })
  })

  it('is ended by a control that ends, and so is what only follows', async () => {
    const other = await harness.control([agent])
    void agree(textFrame('x'))
    const socket = new WebSocket(`${other.url.replace('http', 'ws')}${webSocket(`?access_token=${alice.key}`)}`)
    await once(socket, 'message')
    const closed = closeOf(socket)
    await other.stop()
    expect(await closed).toEqual({ code: 1012, reason: 'shutting down' })
  })
})
