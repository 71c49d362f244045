// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

let harness: Harness
let agent: FakeAgent
let control: RunningControl
let alice: Tenant
let bob: Tenant
let id: string

beforeAll(async () => {
  agent = await FakeAgent.start()
  harness = await Harness.start()
  control = await harness.control([agent])
  alice = await harness.tenant(control, 'alice')
  bob = await harness.tenant(control, 'bob')
  id = (await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })).body.id
})

afterEach(() => {
  agent.onOperation = () => false
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

const SSE = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }

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

const stream = (path = '') => `/v1/sandboxes/${id}/exec/stream${path}`
const webSocket = (path = '') => `/v1/sandboxes/${id}/exec/ws${path}`

describe('a stream of events', () => {
  it('passes piece by piece, with its headers, the caller’s id and the body as it came', async () => {
    const seen = Promise.withResolvers<{ request: IncomingMessage; body: string }>()
    const release = Promise.withResolvers<void>()
    agent.onOperation = (request, response) => {
      void (async () => {
        response.writeHead(200, { ...SSE, 'x-request-id': request.headers['x-request-id'] })
        response.flushHeaders()
        seen.resolve({ request, body: await text(request) })
        response.write('event: stdout\ndata: {"chunk":"1"}\n\n')
        await release.promise
        response.end('event: exit\ndata: {}\n\n')
      })()
      return true
    }
    const request = send(`${stream()}?a=%FF&b`, {
      method: 'POST',
      headers: { 'x-request-id': 'mine', cookie: 'secret', 'last-event-id': '7' },
    })
    request.end('{"cmd":"x"}')
    const response = await answerOf(request)
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject(SSE)
    expect(response.rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id')).toHaveLength(1)
    expect(response.headers['x-request-id']).toBe('mine')
    const [first] = (await once(response, 'data')) as [Buffer]
    expect(first.toString()).toContain('"chunk":"1"')
    release.resolve()
    const rest = await text(response)
    expect(rest).toBe('event: exit\ndata: {}\n\n')
    const { request: asked, body } = await seen.promise
    expect(asked.url).toBe(`${stream()}?a=%FF&b`)
    expect(asked.headers).toMatchObject({ 'x-request-id': 'mine', 'last-event-id': '7' })
    expect(asked.headers['cookie']).toBeUndefined()
    expect(body).toBe('{"cmd":"x"}')
  })

  it('begins for the caller when it begins for the agent, before any event', async () => {
    agent.onOperation = (request, response) => {
      request.resume()
      response.writeHead(200, SSE).flushHeaders()
      return true
    }
    const request = send(stream(), { method: 'POST' })
    request.end('{}')
    expect((await answerOf(request)).statusCode).toBe(200)
    request.destroy()
  })

  it('ends at the agent when the caller hangs up, before the answer and after', async () => {
    for (const answers of [false, true]) {
      const begun = Promise.withResolvers<void>()
      const ended = Promise.withResolvers<void>()
      agent.onOperation = (request, response) => {
        response.once('close', ended.resolve)
        request.once('end', begun.resolve).resume()
        if (answers) response.writeHead(200, SSE).write(': hi\n\n')
        return true
      }
      const request = send(stream(), { method: 'POST' })
      request.on('error', () => undefined)
      request.end('{}')
      if (answers) (await answerOf(request)).resume()
      else await begun.promise
      request.destroy()
      await expect(ended.promise).resolves.toBeUndefined()
    }
  })

  it.each([
    [
      'between two events',
      'event: stdout\ndata: 1\n\n',
      'event: stdout\ndata: 1\n\nevent: error\ndata: {"error":"agent unreachable"}\n\n',
    ],
    ['inside of one', 'event: stdout\nda', 'event: stdout\nda'],
    ['before the first', '', 'event: error\ndata: {"error":"agent unreachable"}\n\n'],
  ])('ends cleanly for the caller when the agent dies %s', async (_where, sent, received) => {
    agent.onOperation = (request, response) => {
      request.resume()
      response.writeHead(200, SSE).flushHeaders()
      response.write(sent, () => response.destroy())
      if (sent === '') response.destroy()
      return true
    }
    const request = send(stream(), { method: 'POST' })
    request.end('{}')
    const response = await answerOf(request)
    expect(await text(response)).toBe(received)
    expect(response.complete).toBe(true)
  })

  it('holds the agent back while the caller does not read', { tags: ['faults'] }, async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const total = 64 * 1024 * 1024
    let written = 0
    agent.onOperation = (request, response) => {
      request.resume()
      response.writeHead(200, SSE)
      const source = Readable.from(
        (function* () {
          for (; written < total; written += chunk.length) yield chunk
        })(),
      )
      source.pipe(response)
      return true
    }
    const request = send(stream(), { method: 'POST' })
    request.end('{}')
    const response = await answerOf(request)
    let before = -1
    await eventually(async () => {
      const stands = written === before
      before = written
      await new Promise((resolve) => setTimeout(resolve, 200))
      return stands
    })
    expect(written).toBeLessThan(total / 2)
    expect((await buffer(response)).length).toBe(total)
  })

  it('carries an upload without holding it, and an early refusal of one', async () => {
    agent.onOperation = (request, response) => {
      request.once('data', () =>
        response.writeHead(413, { 'content-type': 'application/json' }).end('{"error":"too large"}'),
      )
      return true
    }
    const request = send(stream(), { method: 'POST', headers: { 'content-length': '100000000' } })
    request.on('error', () => undefined)
    request.write('x'.repeat(100_000))
    const response = await answerOf(request)
    expect(response.statusCode).toBe(413)
    expect(await text(response)).toBe('{"error":"too large"}')
    request.destroy()
  })

  it('keeps an agent’s own failures to itself', async () => {
    for (const status of [401, 403, 500, 502]) {
      agent.onOperation = (request, response) => {
        request.resume()
        response.writeHead(status).end('inside')
        return true
      }
      const answer = await call(control.url, 'POST', stream(), { token: alice.key, body: { cmd: 'x' } })
      expect(answer.status).toBe(500)
      expect(JSON.stringify(answer.body)).not.toContain('inside')
    }
  })
})

describe('refused before anything is forwarded', () => {
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  const none = '00000000-0000-4000-8000-000000000000'

  async function refusal(path: string, options: Parameters<typeof send>[1]) {
    const request = send(path, options)
    request.end()
    const response = await answerOf(request)
    const body = JSON.parse(await text(response))
    const ids = response.rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id')
    return { status: response.statusCode, body, ids: ids.length, type: response.headers['content-type'] }
  }

  it.each(['stream', 'ws'])('with the same answers: exec/%s', async (action) => {
    const [method, headers] = action === 'ws' ? ['GET', upgrade] : ['POST', {}]
    const path = (of: string) => `/v1/sandboxes/${of}/exec/${action}`
    const before = agent.requests.length
    const rest = { ids: 1, type: 'application/json; charset=utf-8' }
    const unauthorized = (detail: string) => ({ status: 401, body: { error: 'unauthorized', detail }, ...rest })
    const notFound = { status: 404, body: { error: 'not found' }, ...rest }
    expect(await refusal(path(id), { method, headers, token: '' })).toEqual(unauthorized('missing bearer token'))
    expect(await refusal(path(id), { method, headers, token: 'x' })).toEqual(unauthorized('invalid api token'))
    expect(await refusal(path(id), { method, headers, token: bob.key })).toEqual(notFound)
    expect(await refusal(path(none), { method, headers })).toEqual(notFound)
    expect(await refusal(path('x'), { method, headers })).toEqual(notFound)
    expect(await refusal(`${path(id)}/x`, { method, headers })).toEqual(notFound)
    expect(await refusal(path(id), { method: 'PUT', headers })).toMatchObject({
      status: 405,
      body: { error: 'method not allowed' },
    })
    const failed = await harness.twinOf(id, 'failed')
    expect(await refusal(path(failed), { method, headers })).toEqual({
      status: 404,
      body: { error: 'sandbox not found or not running' },
      ...rest,
    })
    expect(agent.requests.slice(before).filter(({ path }) => path.includes(id))).toEqual([])
  })

  it('an upgrade route without an upgrade: 426', async () => {
    expect(await refusal(webSocket(), {})).toMatchObject({ status: 426, body: { error: 'upgrade required' } })
    expect(await refusal(webSocket(), { headers: { connection: 'upgrade', upgrade: 'h2c' } })).toMatchObject({
      status: 426,
    })
  })

  it('an upgrade of a plain route is a plain request', async () => {
    const request = send(`/v1/sandboxes/${id}`, { headers: upgrade })
    request.end()
    const response = await answerOf(request)
    expect(response.statusCode).toBe(200)
    expect(JSON.parse(await text(response)).id).toBe(id)
  })

  it('an agent’s refusal of an upgrade is passed on', async () => {
    agent.onUpgrade = (_request, socket) => {
      socket.end(
        'HTTP/1.1 409 Conflict\r\ncontent-type: application/json\r\ncontent-length: 13\r\nx-request-id: a\r\n\r\n{"error":"x"}',
      )
    }
    expect(await refusal(webSocket(), { headers: upgrade })).toEqual({
      status: 409,
      body: { error: 'x' },
      ids: 1,
      type: 'application/json',
    })
  })

  it('the query opens only what streams by GET', async () => {
    agent.onUpgrade = (_request, socket) =>
      socket.end('HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}')
    const token = { token: '', headers: upgrade }
    expect((await refusal(webSocket(`?access_token=${alice.key}`), token)).status).toBe(409)
    expect((await refusal(webSocket(`?access_token=${alice.jwt}`), token)).status).toBe(409)
    expect((await refusal(webSocket(`?access_token=x`), token)).status).toBe(401)
    expect((await refusal(webSocket(`?access_token=a&access_token=b`), token)).status).toBe(401)
    expect((await refusal(stream(`?access_token=${alice.key}`), { method: 'POST', token: '' })).status).toBe(401)
    expect((await refusal(`/v1/sandboxes/${id}?access_token=${alice.key}`, { token: '' })).status).toBe(401)
  })
})
