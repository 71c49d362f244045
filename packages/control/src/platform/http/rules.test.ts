// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

describe('rules for every route', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  describe('the audit log', () => {
    const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
      call(control.url, method, path, { token, ...(body !== undefined && { body }) })
    const entries = async () => (await ask('GET', '/v1/audit', undefined, tenant.jwt)).body

    it('has each change with its status, each access to a secret, and no command', async () => {
      const before = (await entries()).length
      const { body: sandbox } = await ask('POST', '/v1/sandboxes', { template: 'base' })
      await ask('POST', `/v1/sandboxes/${sandbox.id}/exec`, { cmd: 'true' })
      await ask('DELETE', '/v1/volumes/%00x')
      expect((await ask('GET', '/v1/apps')).status).toBe(200)
      expect((await ask('GET', '/v1/sandboxes')).status).toBe(200)
      const isNoted = async () =>
        (await entries()).every(({ action, details }: { action: string; details: { status?: number } }) =>
          ['request.made', 'secret.read'].includes(action) ? details.status !== undefined : true,
        )
      expect(await eventually(isNoted)).toBe(true)
      const made = (await entries()).slice(0, -before || undefined)
      const actor = { type: 'key', id: tenant.key.slice(0, made[0].actor.id.length) }
      expect(made).toMatchObject([
        {
          action: 'secret.read',
          target: null,
          target_kind: 'app',
          actor,
          details: { method: 'GET', route: '/v1/apps', status: 200 },
        },
        {
          action: 'request.made',
          target: 'x',
          target_kind: 'volume',
          actor,
          details: { route: '/v1/volumes/:name', status: 404 },
        },
        { target: sandbox.id, target_kind: 'sandbox', actor, details: { route: '/v1/sandboxes', status: 201 } },
      ])
      expect(made[0]).toMatchObject({ ip: '127.0.0.1', request_id: expect.any(String) })
    })

    it('shows a workspace only its own entries', async () => {
      const stranger = await harness.tenant(control, 'audit-stranger')
      expect((await ask('GET', '/v1/audit', undefined, stranger.jwt)).body).not.toEqual(
        expect.arrayContaining([expect.objectContaining({ action: 'secret.read' })]),
      )
    })

    it('refuses a change whose entry cannot be written, and changes nothing', async () => {
      const count = async () => (await ask('GET', '/v1/sandboxes')).body.length
      const before = await count()
      await harness.pool.query('alter table audit_log rename to audit_log_away')
      try {
        expect((await ask('POST', '/v1/sandboxes', { template: 'base' })).status).toBe(500)
        expect(await count()).toBe(before)
      } finally {
        await harness.pool.query('alter table audit_log_away rename to audit_log')
      }
    })
  })

  describe('X-Request-Id', () => {
    it.each(['abc', 'x'.repeat(64), 'with space ~!'])('takes over %j', async (id) => {
      const { headers } = await call(control.url, 'GET', '/version', { headers: { 'x-request-id': id } })
      expect(headers.get('x-request-id')).toBe(id)
    })

    it.each(['x'.repeat(65), 'ü', 'tab\tbed'])('replaces %j', async (id) => {
      const { headers } = await call(control.url, 'GET', '/version', { headers: { 'x-request-id': id } })
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    })

    it.each([
      ['GET', '/healthz'],
      ['GET', '/metrics'],
      ['GET', '/openapi.json'],
      ['GET', '/nowhere'],
      ['PUT', '/v1/sandboxes'],
      ['GET', '/v1/me'],
      ['GET', '/%zz'],
      ['POST', '/api/auth/sign-in/email'],
      ['OPTIONS', '/v1/sandboxes'],
    ])('is there once on %s %s', async (method, path) => {
      const { headers } = await call(control.url, method, path, { headers: { 'x-request-id': 'mine' } })
      expect(headers.get('x-request-id')).toBe('mine')
    })

    it('is forwarded to the agent and comes back once', async () => {
      const { body } = await call(control.url, 'POST', '/v1/sandboxes', {
        token: tenant.key,
        body: { template: 'base' },
        headers: { 'x-request-id': 'create-1' },
      })
      const { headers } = await call(control.url, 'POST', `/v1/sandboxes/${body.id}/exec`, {
        token: tenant.key,
        body: { cmd: 'true' },
        headers: { 'x-request-id': 'exec-1' },
      })
      expect(headers.get('x-request-id')).toBe('exec-1')
      expect(agent.requests.map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(['create-1', 'exec-1']))
    })

    const answerTo = (request: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(Number(new URL(control.url).port), '127.0.0.1', () => socket.end(request))
        let received = ''
        socket.on('data', (part) => (received += part))
        socket.on('end', () => resolve(received))
        socket.on('error', reject)
      })

    it('is on the answer to a request that names no host', async () => {
      const text = await answerTo('GET /version HTTP/1.1\r\nX-Request-Id: mine\r\nConnection: close\r\n\r\n')
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
      expect(text).toMatch(/\r\nx-request-id: mine\r\n/)
      expect(text).toMatch(/\{"error":"host required"\}$/)
      expect(await answerTo('GET /version HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
    })

    it('is on the answer to what is not HTTP', async () => {
      const text = await answerTo('NONSENSE\r\n\r\n')
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
      expect(text).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
      expect(text).toMatch(/\{"error":"bad request"\}$/)
    })
  })

  it.each([
    '/',
    '/v1',
    '/v1/nowhere',
    '/v1/sandboxes/',
    '/v1/sandboxes/a/b/c',
    '/%zz',
    '/v1/sandboxes/..%2f',
    '/api/auth/nowhere',
  ])('answers 404 in JSON at %s', async (path) => {
    const { status, body } = await call(control.url, 'GET', path, { token: tenant.key })
    expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } })
  })

  it.each([
    ['PUT', '/v1/sandboxes', 'POST, GET, HEAD, OPTIONS'],
    ['PUT', '/v1/sandboxes/123', 'GET, HEAD, PATCH, DELETE, OPTIONS'],
    ['GET', '/v1/sandboxes/123/exec', 'POST, OPTIONS'],
    ['DELETE', '/v1/templates', 'GET, HEAD, OPTIONS'],
    ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
    ['POST', '/v1/me', 'GET, HEAD, DELETE, OPTIONS'],
    ['QUERY', '/v1/me', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
    ['PROPFIND', '/v1/me', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
  ])('answers 405 in JSON to %s %s', async (method, path, allow) => {
    const { status, body, headers } = await call(control.url, method, path)
    expect({ status, body }).toEqual({ status: 405, body: { error: 'method not allowed' } })
    expect(headers.get('allow')).toBe(allow)
  })

  it('answers HEAD like GET, without a body', async () => {
    const { status, body, headers } = await call(control.url, 'HEAD', '/v1/sandboxes', { token: tenant.key })
    expect({ status, body }).toEqual({ status: 200, body: '' })
    expect(headers.get('content-type')).toMatch(/json/)
    expect((await call(control.url, 'HEAD', '/v1/sandboxes')).status).toBe(401)
  })

  describe('CORS', () => {
    it('answers a preflight of a configured origin before it asks for a credential', async () => {
      const origin = 'https://app.example.com'
      const { status, headers } = await call(control.url, 'OPTIONS', '/v1/sandboxes', { headers: { origin } })
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-allow-headers')).toContain('authorization')
    })

    it('tells any other origin nothing', async () => {
      const headers = { origin: 'https://evil.example.com' }
      for (const method of ['OPTIONS', 'GET']) {
        const answer = await call(control.url, method, '/version', { headers })
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
      }
    })

    it('lets a configured origin read refusals too', async () => {
      const headers = { origin: 'https://app.example.com' }
      const answer = await call(control.url, 'GET', '/v1/sandboxes', { headers })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    })
  })

  describe('bodies', () => {
    const create = (body: string, type?: string) =>
      call(control.url, 'POST', '/v1/sandboxes', {
        token: tenant.key,
        body,
        headers: type === undefined ? {} : { 'content-type': type },
      })

    it.each(['{', 'null', '[]', '"text"', '7', '{"template":"base"'])('refuses %s as invalid json', async (text) => {
      const { status, body } = await create(text, 'application/json')
      expect({ status, body }).toEqual({ status: 400, body: { error: 'invalid json' } })
    })

    it.each([
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/octet-stream',
      'json',
    ])('reads JSON under %s', async (type) => {
      expect((await create('{"template":"base"}', type)).status).toBe(201)
    })

    it.each(['application/json', 'text/plain'])('takes an empty one under %s for {}', async (type) => {
      const { status, body } = await create('', type)
      expect({ status, body }).toEqual({ status: 400, body: { error: 'template required' } })
    })

    it('takes one with a byte order mark, and none with bytes that are no UTF-8', async () => {
      expect((await create('\ufeff{"template":"base"}')).status).toBe(201)
      const body = Buffer.concat([
        Buffer.from('{"template":"base","metadata":{"k":"'),
        Buffer.of(0xff),
        Buffer.from('"}}'),
      ])
      const headers = { authorization: `Bearer ${tenant.key}` }
      const answer = await fetch(`${control.url}/v1/sandboxes`, { method: 'POST', body, headers })
      expect({ status: answer.status, body: await answer.json() }).toEqual({
        status: 400,
        body: { error: 'invalid json' },
      })
    })

    it('refuses forms', async () => {
      const { status, body } = await create('--x--', 'multipart/form-data; boundary=x')
      const refusal = { error: 'unsupported media type', detail: 'send the body as JSON' }
      expect({ status, body }).toEqual({ status: 415, body: refusal })
    })

    it('refuses one that is too long', async () => {
      const { status, body } = await create('x'.repeat(33 * 1024 * 1024), 'application/json')
      expect({ status, body }).toEqual({ status: 413, body: { error: 'request body too large' } })
    })
  })

  it('never tells the inside of a failure', async () => {
    const { status, body, headers } = await call(control.url, 'POST', '/v1/sandboxes', {
      token: tenant.key,
      body: { template: 'base', metadata: { when: 'broken' } },
      headers: { 'x-request-id': 'broken-1' },
    }).then(async (made) => {
      agent.onExec = async () => ({ status: 500, body: { error: 'secret of the inside' } })
      return call(control.url, 'POST', `/v1/sandboxes/${made.body.id}/exec`, {
        token: tenant.key,
        body: { cmd: 'true' },
        headers: { 'x-request-id': 'broken-2' },
      })
    })
    expect({ status, body }).toEqual({ status: 500, body: { error: 'internal error', detail: 'request broken-2' } })
    expect(headers.get('x-request-id')).toBe('broken-2')
  })
})
