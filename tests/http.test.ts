import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from './setup/http.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

const create = async (body: unknown) => offshoot.request('POST', '/v1/sandboxes', { body })
const bare = async (method: string, path: string, headers: Record<string, string> = {}) =>
  call(method, offshoot.credentials.base_url + path, { headers })

const idsOf = (answer: { body: { id: string }[] }) => answer.body.map(({ id }) => id)
const idsOn = (raw: readonly string[]) =>
  raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'x-request-id')

describe('public routes', () => {
  it('answer without credentials', async () => {
    const health = await bare('GET', '/healthz')
    expect(health.status).toBe(200)
    expect(health.body).toMatchObject({ status: 'ok', checks: { database: 'ok' } })
    const version = await bare('GET', '/version')
    expect(version.body).toEqual({
      service: 'offshoot',
      version: expect.any(String),
      commit: expect.any(String),
      api: 'v1',
    })
    expect((await bare('GET', '/metrics')).text).toMatch(/^# HELP /m)
    const { body } = await bare('GET', '/openapi.json')
    expect(body.openapi).toMatch(/^3\.1\./)
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining([
        '/v1/sandboxes',
        '/v1/sandboxes/{id}',
        '/v1/sandboxes/{id}/exec',
        '/v1/templates',
        '/v1/templates/{name}',
      ]),
    )
  })
})

describe('the console', () => {
  it('is a page whose files are all here', async () => {
    const page = await bare('GET', '/sandboxes', { accept: 'text/html' })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
    expect(files).toEqual(expect.arrayContaining([expect.stringMatching(/^\/assets\/.*\.js$/)]))
    for (const file of files) expect([file, (await bare('GET', file)).status]).toEqual([file, 200])
  })
})

describe('credentials', () => {
  const unknownKey = `ofs_${'a'.repeat(8)}_${'b'.repeat(32)}`
  it.each([
    ['/v1/sandboxes', {}, 'missing bearer token'],
    ['/v1/sandboxes', { authorization: 'Basic dTpw' }, 'missing bearer token'],
    ['/v1/sandboxes', { authorization: 'Bearer ' }, 'missing bearer token'],
    ['/v1/sandboxes', { authorization: `Bearer ${unknownKey}` }, 'invalid api token'],
    ['/v1/sandboxes', { authorization: 'Bearer ofs_' }, 'invalid api token'],
    ['/v1/sandboxes', { authorization: 'Bearer a.b.c' }, 'invalid api token'],
    ['/v1/templates', {}, 'missing bearer token'],
    ['/v1/me', {}, 'missing bearer token'],
  ])('%s with %j answers 401', async (path, headers: Record<string, string>, detail) => {
    const answer = await bare('GET', path, headers)
    expect([answer.status, answer.body]).toEqual([401, { error: 'unauthorized', detail }])
  })

  it('of both kinds open the sandbox routes; only a JWT opens /v1/me', async () => {
    const { api_key, jwt } = offshoot.credentials
    for (const secret of [api_key, jwt]) {
      expect((await bare('GET', '/v1/sandboxes', { authorization: `Bearer ${secret}` })).status).toBe(200)
    }
    const me = await bare('GET', '/v1/me', { authorization: `Bearer ${jwt}` })
    expect(me.body).toMatchObject({ user: { email: offshoot.credentials.email }, auth_method: 'jwt' })
    const refused = await bare('GET', '/v1/me', { authorization: `Bearer ${api_key}` })
    expect([refused.status, refused.body]).toEqual([401, { error: 'unauthorized', detail: 'jwt required' }])
  })
})

describe('unknown things', () => {
  const nobody = '00000000-0000-4000-8000-000000000000'
  it.each([nobody, 'x', '..%2f..%2fetc', '%00', nobody.toUpperCase(), `${nobody}0`])(
    'id %s answers 404',
    async (id) => {
      for (const [method, path, body] of [
        ['GET', `/v1/sandboxes/${id}`, undefined],
        ['DELETE', `/v1/sandboxes/${id}`, undefined],
        ['POST', `/v1/sandboxes/${id}/exec`, { cmd: 'true' }],
      ] as const) {
        const answer = await offshoot.request(method, path, { body })
        expect([answer.status, answer.body]).toEqual([404, { error: 'not found' }])
      }
    },
  )

  it('routes and methods answer in JSON', async () => {
    const route = await offshoot.request('GET', '/v1/nowhere')
    expect([route.status, route.body.error]).toEqual([404, 'not found'])
    const method = await offshoot.request('PUT', '/v1/sandboxes', { body: {} })
    expect([method.status, method.body.error]).toEqual([405, 'method not allowed'])
    expect(method.headers['allow']).toContain('POST')
  })

  it('templates answer 404', async () => {
    expect((await offshoot.request('GET', '/v1/templates/no-such')).status).toBe(404)
    expect((await create({ template: 'no-such' })).status).toBe(404)
    expect((await create({ template: 'minimal', from_snapshot: 'no-such' })).status).toBe(404)
    expect((await create({ template: 'minimal', volumes: [{ name: 'no-such' }] })).status).toBe(404)
    expect((await offshoot.request('GET', '/v1/sandboxes')).body).toEqual([])
  })
})

describe('templates', () => {
  it('are listed and shown', async () => {
    const { body: listed } = await offshoot.request('GET', '/v1/templates')
    const { body: shown } = await offshoot.request('GET', '/v1/templates/minimal')
    expect(listed.filter(({ name }: { name: string }) => name === 'minimal')).toEqual([shown])
    expect(shown).toMatchObject({ name: 'minimal', cpu: 1, is_global: true, meta: expect.any(Object) })
    expect(shown.size_bytes).toBeGreaterThan(100_000)
    expect(shown.rootfs_path).toMatch(/minimal/)
  })
})

describe('create', () => {
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v']))
  it.each([
    [undefined, 'template required'],
    [{}, 'template required'],
    [{ template: null }, 'template required'],
    [{ template: '' }, 'template required'],
    [{ template: 5 }, 'template must be a string'],
    ['{"template":', 'invalid json'],
    ['[]', 'invalid json'],
    ['7', 'invalid json'],
    [{ template: 'minimal', ttl_seconds: 0 }, 'ttl_seconds must be >= 1'],
    [{ template: 'minimal', ttl_seconds: -1 }, 'ttl_seconds must be >= 1'],
    [{ template: 'minimal', ttl_seconds: 1.5 }, 'ttl_seconds must be an integer'],
    [{ template: 'minimal', ttl_seconds: '60' }, 'ttl_seconds must be an integer'],
    [{ template: 'minimal', idle_timeout_seconds: 59 }, 'idle_timeout_seconds must be >= 60'],
    [{ template: 'minimal', persistent: 'yes' }, 'persistent must be a boolean'],
    [{ template: 'minimal', metadata: [] }, 'metadata must be a string map'],
    [{ template: 'minimal', metadata: { a: 1 } }, 'metadata must be a string map'],
    [{ template: 'minimal', metadata: many }, 'metadata must have at most 64 entries'],
    [{ template: 'minimal', metadata: { ['k'.repeat(257)]: '' } }, 'metadata keys must be at most 256 characters'],
    [{ template: 'minimal', metadata: { k: 'v'.repeat(4097) } }, 'metadata values must be at most 4096 characters'],
    [{ template: 'minimal', env: { A: 1 } }, 'env must be a string map'],
    [{ template: 'minimal', env: 'A=1' }, 'env must be a string map'],
    [{ template: 'minimal', volumes: 'data' }, 'volumes must be an array of objects'],
    [{ template: 'minimal', volumes: [{}] }, 'volumes.name required'],
    [{ template: 'minimal', cpu: 'many' }, 'cpu must be an integer'],
  ])('refuses %j with 400 and makes nothing', async (body, error) => {
    const answer = await create(body)
    expect([answer.status, answer.body.error]).toEqual([400, error])
    expect((await offshoot.request('GET', '/v1/sandboxes')).body).toEqual([])
  })
})

describe('the list', () => {
  it('is paged, newest first, and filtered', async () => {
    const ids: string[] = []
    for (const tag of ['a', 'b', 'a'])
      ids.unshift((await offshoot.create({ template: 'minimal', metadata: { tag } })).id)
    const page = async (query: string) => offshoot.request('GET', `/v1/sandboxes${query}`)
    expect(idsOf(await page(''))).toEqual(ids)
    expect(idsOf(await page('?metadata.tag=a'))).toEqual([ids[0], ids[2]])
    expect(idsOf(await page('?status=running&template=minimal'))).toEqual(ids)
    expect((await page('?status=paused')).body).toEqual([])
    expect((await page('?template=other')).body).toEqual([])

    const first = await page('?limit=2')
    expect(idsOf(first)).toEqual(ids.slice(0, 2))
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers['link']))?.[1] ?? ''
    const second = await offshoot.request('GET', next.replace(offshoot.credentials.base_url, ''))
    expect(idsOf(second)).toEqual(ids.slice(2))
    expect(second.headers['link']).toBeUndefined()

    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?status=asleep', '?cursor=%25']) {
      expect([query, (await page(query)).status]).toEqual([query, 400])
    }
    await Promise.all(ids.map(async (id) => offshoot.delete(id)))
  })
})

describe('X-Request-Id', () => {
  it.each(['/healthz', '/v1/sandboxes', '/v1/nowhere', '/v1/sandboxes/x'])('stands once on %s', async (path) => {
    expect(idsOn((await offshoot.request('GET', path, { headers: { 'x-request-id': 'mine-1' } })).rawHeaders)).toEqual([
      'mine-1',
    ])
    const long = idsOn(
      (await offshoot.request('GET', path, { headers: { 'x-request-id': 'x'.repeat(65) } })).rawHeaders,
    )
    expect(long).toHaveLength(1)
    expect(long[0]).not.toContain('xxxx')
    expect(idsOn((await offshoot.request('GET', path)).rawHeaders)).toHaveLength(1)
  })

  it('stands once on what the agent answered', async () => {
    const { id } = await offshoot.create()
    const answer = await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
      body: { cmd: 'true' },
      headers: { 'x-request-id': 'mine-2' },
    })
    expect(idsOn(answer.rawHeaders)).toEqual(['mine-2'])
    await offshoot.delete(id)
  })
})

it('takes no part of a create that was cut off', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const request = httpRequest(`${offshoot.credentials.base_url}/v1/sandboxes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${offshoot.credentials.api_key}`, 'content-length': '100' },
  })
  request.on('close', resolve).on('error', () => undefined)
  request.write('{"template":"minimal"', () => request.destroy())
  await promise
  expect((await offshoot.request('GET', '/v1/sandboxes')).body).toEqual([])
})
