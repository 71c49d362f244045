import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hangUp, json, ScriptedServer } from '../test/scripted-server.ts'
import { ConnectionError, LimitError, ServerError, TimeoutError } from './errors.ts'
import { requestTo } from './routes.ts'
import { type ClientOptions, Transport } from './transport.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.stop())

const at = (options: ClientOptions = {}) => new Transport({ ...server.options, ...options })
const read = requestTo('GET /v1/templates')
const create = requestTo('POST /v1/volumes', { body: { name: 'data' } })
/** The service carries out each such request, so it has no idempotency key. */
const act = requestTo('POST /v1/webhooks/{id}/test', { path: { id: 'x' } })
const soon = { 'retry-after': '0' }

describe('a request', () => {
  it('has the credential, the workspace, the query and the body', async () => {
    server.script(json(200, { ok: true }))
    const transport = at({ jwt: async () => 'fresh', org: 'w-1', headers: { 'x-own': 'y' } })
    const answer = await transport.json({ ...create, query: { a: [1, 2], b: null, c: undefined, d: false } })
    expect(answer).toEqual({ ok: true })
    expect(server.received).toMatchObject([
      {
        method: 'POST',
        url: '/v1/volumes?a=1&a=2&d=false',
        body: '{"name":"data"}',
        headers: { authorization: 'Bearer fresh', 'x-offshoot-org': 'w-1', 'x-own': 'y' },
      },
    ])
    server.script((response) => response.writeHead(204).end())
    expect(await at().json(read)).toBeNull()
    expect(server.received[0]?.headers.authorization).toBe('Bearer ofs_test')
  })

  it('refuses a path that would lead elsewhere', () => {
    for (const id of ['', '.', '..']) expect(() => requestTo('GET /v1/apps/{id}', { path: { id } })).toThrow(TypeError)
    expect(requestTo('GET /v1/apps/{id}', { path: { id: 'a/b?c' } }).path).toBe('/v1/apps/a%2Fb%3Fc')
    const proxied = requestTo('GET /v1/apps/{id}/proxy/{path}', { path: { id: 'x', path: 'a b/c' } })
    expect(proxied.path).toBe('/v1/apps/x/proxy/a%20b/c')
  })
})

describe('retries', () => {
  it.each([429, 500, 502, 507])('repeat a read and a create after %i, the create with the same key', async (status) => {
    for (const request of [read, create]) {
      server.script(json(status, { error: 'later' }, soon), json(200, []))
      expect(await at().json(request)).toEqual([])
      expect(server.received).toHaveLength(2)
    }
    const keys = server.received.map(({ headers }) => headers['idempotency-key'])
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[1]).toBe(keys[0])
  })

  it('repeat what has no key only after a limit', async () => {
    server.script(json(500, { error: 'internal error' }, soon), json(200, {}))
    await expect(at().json(act)).rejects.toBeInstanceOf(ServerError)
    server.script(json(429, { error: 'later' }, soon), json(200, {}))
    expect(await at().json(act)).toEqual({})
    expect(server.received[0]?.headers['idempotency-key']).toBeUndefined()
  })

  it('repeat after a lost connection what may be repeated', async () => {
    server.script(hangUp, json(200, []))
    expect(await at().json({ ...create, idempotencyKey: 'mine' })).toEqual([])
    expect(server.received.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine', 'mine'])
    server.script(hangUp, json(200, {}))
    await expect(at().json(act)).rejects.toBeInstanceOf(ConnectionError)
    server.script(hangUp, json(200, {}))
    const body = new Blob(['x']).stream()
    await expect(at().json({ ...read, method: 'PUT', body })).rejects.toBeInstanceOf(ConnectionError)
  })

  it('end with the refusal after the last attempt, or when the service asks for more than a minute', async () => {
    server.script(json(429, { error: 'later', max: 3 }, { ...soon, 'x-request-id': 'r-1' }))
    const refused: unknown = await at({ maxRetries: 1 })
      .json(read)
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(LimitError)
    expect(refused).toMatchObject({ status: 429, requestId: 'r-1', body: { error: 'later', max: 3 } })
    expect(server.received).toHaveLength(2)
    server.script(json(429, { error: 'tomorrow' }, { 'retry-after': '3600' }))
    await expect(at().json(read)).rejects.toBeInstanceOf(LimitError)
    expect(server.received).toHaveLength(1)
  })
})

describe('an answer', () => {
  it('that is no JSON is an error that says so', async () => {
    server.script((response) => response.end('<html>'))
    await expect(at().json(read)).rejects.toThrow('is this the address of an Offshoot?')
    server.script((response) => response.writeHead(404).end('<h1>a proxy</h1>'))
    await expect(at().json(read)).rejects.toMatchObject({ body: { error: 'Not Found', detail: '<h1>a proxy</h1>' } })
  })

  it('that breaks off is a lost connection', async () => {
    server.script((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('[')
      response.destroy()
    })
    await expect(at({ maxRetries: 0 }).json(read)).rejects.toBeInstanceOf(ConnectionError)
  })

  it('from an address where nothing listens is a lost connection, with its cause', async () => {
    const gone = await ScriptedServer.start()
    const { options } = gone
    await gone.stop()
    const failure = new Transport({ ...options, maxRetries: 0 }).json(read)
    await expect(failure).rejects.toMatchObject({ name: 'ConnectionError', cause: expect.any(Error) })
  })
})

describe('a call', () => {
  it('ends with its deadline, which holds for all attempts and for the body', async () => {
    server.script(() => undefined)
    await expect(at({ timeoutMs: 30 }).json(read)).rejects.toBeInstanceOf(TimeoutError)
    server.script(json(500, { error: 'internal error' }, { 'retry-after': '30' }))
    await expect(at().json({ ...read, timeoutMs: 200 })).rejects.toBeInstanceOf(TimeoutError)
    server.script((response) => response.writeHead(200).write('['))
    await expect(at().json({ ...read, timeoutMs: 200 })).rejects.toBeInstanceOf(TimeoutError)
  })

  it('ends with the reason of its signal, before the request, during it, and between attempts', async () => {
    const reason = new Error('enough')
    server.script(() => undefined)
    await expect(at().json({ ...read, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const during = new AbortController()
    server.script(() => during.abort(reason))
    await expect(at().json({ ...read, signal: during.signal })).rejects.toBe(reason)
    const between = new AbortController()
    server.script((response, request) => {
      json(500, { error: 'internal error' }, { 'retry-after': '30' })(response, request)
      setTimeout(() => between.abort(reason), 20)
    })
    await expect(at().json({ ...read, signal: between.signal })).rejects.toBe(reason)
  })
})
