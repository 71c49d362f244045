import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hangUp, json, ScriptedServer } from '../test/scripted-server.ts'
import { BadRequestError, ConnectionError, LimitError, ServerError, TimeoutError } from './errors.ts'
import { requestTo } from './routes.ts'
import { type ClientOptions, type Request, Transport } from './transport.ts'

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
const deleted = (response: ServerResponse) => response.writeHead(204).end()

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

  it('that fails without an error keeps its fields', async () => {
    server.script(json(503, { status: 'unavailable', checks: { database: 'unreachable' } }))
    const error: unknown = await at({ maxRetries: 0 })
      .json({ method: 'GET', path: '/healthz' })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      status: 503,
      body: { error: 'Service Unavailable', checks: { database: 'unreachable' } },
    })
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

/** The requests that the service got. */
const steps = () =>
  server.received.map(({ method, url, headers: { 'idempotency-cancel': cancel } }) =>
    [method, url, ...(cancel === undefined ? [] : ['cancel'])].join(' '),
  )

describe('a create that ends without an answer', () => {
  const make = requestTo('POST /v1/sandboxes', { body: { template: 'base' } })
  const tree = requestTo('POST /v1/sandboxes/{id}/fork-tree', { path: { id: 'x' }, body: { count: 2 } })
  const reason = new Error('enough')
  /** Aborts while the service works. */
  async function abortDuring(request: Request, ...then: Parameters<typeof server.script>): Promise<void> {
    const during = new AbortController()
    const transport = at()
    server.script(() => during.abort(reason), ...then)
    await expect(transport.json({ ...request, signal: during.signal })).rejects.toBe(reason)
    await transport.undoing.settled()
  }

  it('deletes what it has made', async () => {
    await abortDuring(make, json(201, { id: 's' }), deleted)
    expect(steps()).toEqual(['POST /v1/sandboxes', 'POST /v1/sandboxes cancel', 'DELETE /v1/sandboxes/s'])
    const keys = server.received.slice(0, 2).map(({ headers, body }) => [headers['idempotency-key'], body])
    expect(keys[0]).toEqual(keys[1])
    expect(keys[0]).toEqual([expect.any(String), '{"template":"base"}'])
    await abortDuring(tree, json(201, { children: [{ id: 'a' }, { id: 'b' }] }), deleted)
    expect(steps()).toHaveLength(4)
    expect(steps().slice(2)).toEqual(['DELETE /v1/sandboxes/a', 'DELETE /v1/sandboxes/b'])
  })

  it('is cancelled if nothing was made yet', async () => {
    const cancelled = json(409, { error: 'the request with this idempotency key was cancelled' })
    await abortDuring(make, cancelled)
    expect(steps()).toEqual(['POST /v1/sandboxes', 'POST /v1/sandboxes cancel'])
    // A volume has a name, and perhaps data, so it stays.
    await abortDuring(create, json(201, { name: 'data' }))
    expect(steps()).toEqual(['POST /v1/volumes', 'POST /v1/volumes cancel'])
  })

  it('waits for one that is still under way, and for a service that is away', async () => {
    const busy = json(409, { error: 'the first request with this idempotency key has not finished' })
    await abortDuring(make, hangUp, busy, json(201, { id: 's' }), json(404, { error: 'not found' }))
    expect(steps().at(-1)).toBe('DELETE /v1/sandboxes/s')
    expect(steps()).toHaveLength(5)
  })

  it('also deletes after lost connections and a time limit', async () => {
    const transport = at({ maxRetries: 0 })
    server.script(hangUp, json(201, { id: 's' }), deleted)
    await expect(transport.json(make)).rejects.toBeInstanceOf(ConnectionError)
    await transport.undoing.settled()
    expect(steps().at(-1)).toBe('DELETE /v1/sandboxes/s')
    server.script(() => undefined, json(201, { id: 's' }), deleted)
    await expect(transport.json({ ...make, timeoutMs: 30 })).rejects.toBeInstanceOf(TimeoutError)
    await transport.undoing.settled()
    expect(steps().at(-1)).toBe('DELETE /v1/sandboxes/s')
  })

  it('asks nothing further if it was refused, never sent, or has a key of the caller', async () => {
    server.script(json(400, { error: 'template required' }))
    await expect(at().json(make)).rejects.toBeInstanceOf(BadRequestError)
    await expect(at().json({ ...make, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    server.script(hangUp)
    await expect(at({ maxRetries: 0 }).json({ ...make, idempotencyKey: 'mine' })).rejects.toBeInstanceOf(
      ConnectionError,
    )
    // A later request, so that one that should not be there would have come before.
    server.answers = [json(200, [])]
    await at().json(read)
    expect(steps()).toEqual(['POST /v1/sandboxes', 'GET /v1/templates'])
  })
})
