import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type Answer, type Call, call } from './setup/http.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { until } from './setup/until.ts'

const ENVD_PORT = 49_983
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

const api = (method: string, path: string, { headers = {}, ...rest }: Call = {}): Promise<Answer> =>
  call(method, offshoot.credentials.e2b_api_url + path, {
    headers: { 'x-api-key': offshoot.credentials.e2b_api_key, ...headers },
    ...rest,
  })

interface Made {
  readonly sandboxID: string
  readonly envdAccessToken: string
  readonly domain: string
}

async function create(body: object = {}): Promise<Made> {
  const made = await api('POST', '/v2/sandboxes', { body: { templateID: 'base', timeout: 600, ...body } })
  expect([made.status, made.body.message]).toEqual([201, undefined])
  return made.body
}

/** A request to a port of a sandbox, by the headers that clients send. */
const inside = (id: string, port: number, method: string, path: string, { headers = {}, ...rest }: Call = {}) =>
  call(method, offshoot.credentials.e2b_sandbox_url + path, {
    headers: { 'e2b-sandbox-id': id, 'e2b-sandbox-port': String(port), ...headers },
    ...rest,
  })

const rpc = (
  { sandboxID, envdAccessToken }: Made,
  method: string,
  body: object,
  headers: Record<string, string> = {},
) =>
  inside(sandboxID, ENVD_PORT, 'POST', `/${method}`, {
    body,
    headers: { 'x-access-token': envdAccessToken, ...headers },
  })

describe('the API of E2B', () => {
  it.each([
    ['no key', {}],
    ['a wrong key', { 'x-api-key': 'e2b_00' }],
    ['a key with a space', { 'x-api-key': 'a b' }],
  ])('answers 401 to %s', async (_what, headers) => {
    const answer = await call('GET', `${offshoot.credentials.e2b_api_url}/v2/sandboxes`, { headers })
    expect([answer.status, answer.body]).toEqual([401, { code: 401, message: expect.any(String) }])
  })

  it('takes both forms of a key, also as a bearer token', async () => {
    const { api_key, e2b_api_key } = offshoot.credentials
    expect(e2b_api_key).toMatch(/^e2b_[0-9a-f]+$/)
    for (const headers of [{ 'x-api-key': api_key }, { 'x-api-key': '', authorization: `Bearer ${e2b_api_key}` }]) {
      const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''))
      expect((await call('GET', `${offshoot.credentials.e2b_api_url}/sandboxes`, { headers: given })).status).toBe(200)
    }
    const own = await offshoot.request('GET', '/v1/sandboxes', { headers: { authorization: `Bearer ${e2b_api_key}` } })
    expect(own.status).toBe(200)
  })

  it.each([
    ['POST', '/v2/sandboxes', {}, 400, /^templateID: /],
    ['POST', '/v2/sandboxes', { templateID: 5 }, 400, /^templateID: /],
    ['POST', '/v2/sandboxes', { templateID: 'base', timeout: -1 }, 400, /^timeout: /],
    ['POST', '/v2/sandboxes', { templateID: 'base', metadata: { a: 1 } }, 400, /^metadata/],
    ['POST', '/v2/sandboxes', '{"broken', 400, /./],
    ['POST', '/v2/sandboxes', { templateID: 'missing' }, 404, /"missing" not found/],
    ['POST', '/v2/sandboxes', { templateID: randomUUID() }, 404, /not found/],
    ['POST', '/v2/sandboxes', { templateID: 'base', volumeMounts: [{ name: 'v', path: '/v' }] }, 501, /volume mounts/],
    ['POST', '/v2/sandboxes', { templateID: 'base', network: { allowOut: ['1.1.1.1'] } }, 501, /network rules/],
    ['POST', '/v2/sandboxes', { templateID: 'base', network: { egressProxy: {} } }, 501, /network rules/],
    ['POST', '/v2/sandboxes', { templateID: 'base', autoPauseMemory: false }, 501, /without memory at the timeout/],
    ['POST', '/v2/sandboxes', { templateID: 'mcp-gateways', mcp: {} }, 404, /not found/],
    ['POST', '/v3/templates', { name: 'x' }, 501, /template builds/],
    ['GET', '/volumes', undefined, 501, /volumes/],
    ['PUT', `/sandboxes/${randomUUID()}/network`, {}, 501, /network rules/],
    ['GET', `/sandboxes/${randomUUID()}`, undefined, 404, /not found/],
    ['GET', '/sandboxes/none', undefined, 404, /not found/],
    ['DELETE', `/sandboxes/${randomUUID()}`, undefined, 404, /not found/],
    ['POST', `/sandboxes/${randomUUID()}/timeout`, { timeout: 'x' }, 400, /^timeout: /],
    ['POST', `/sandboxes/${randomUUID()}/timeout`, { timeout: 5 }, 404, /not found/],
    ['POST', `/sandboxes/${randomUUID()}/pause`, undefined, 404, /not found/],
    ['POST', `/v2/sandboxes/${randomUUID()}/connect`, { timeout: 5 }, 404, /not found/],
    ['POST', `/sandboxes/${randomUUID()}/fork`, { count: 17 }, 400, /count/],
    ['DELETE', '/templates/none', undefined, 404, /not found/],
    ['GET', '/v2/sandboxes?limit=0', undefined, 400, /^limit: /],
    ['GET', '/v2/sandboxes?state=gone', undefined, 400, /^state/],
    ['GET', '/v2/sandboxes?nextToken=x', undefined, 400, /cursor/],
    ['GET', '/nowhere', undefined, 404, /no such route/],
  ] as const)('%s %s %j answers %i', async (method, path, body, status, message) => {
    const answer = await api(
      method,
      path,
      body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } },
    )
    expect([answer.status, answer.body]).toEqual([status, { code: status, message: expect.stringMatching(message) }])
  })

  it.each([
    ['base', 'base'],
    ['e2b:default', 'base'],
    ['mastra-5e041282b68ff13a', 'base'],
    ['mastra-custom-mine', null],
  ])('a client that looks for the template %s finds %s', async (alias, name) => {
    const { status, body } = await api('GET', `/templates/aliases/${alias}`)
    expect([status, body.templateID ?? null]).toEqual(name === null ? [404, null] : [200, name])
  })

  it('creates without a network if all of it is denied', async () => {
    for (const body of [{ allow_internet_access: false }, { network: { denyOut: ['0.0.0.0/0'] } }]) {
      const { sandboxID } = await create(body)
      expect((await api('GET', `/sandboxes/${sandboxID}`)).body.allowInternetAccess).toBe(false)
      await api('DELETE', `/sandboxes/${sandboxID}`)
    }
  })

  it('shows no sandboxes of apps and databases, and no marks of its own', async () => {
    const { sandboxID } = await create({ metadata: { own: '1' } })
    const { body } = await api('GET', '/v2/sandboxes')
    expect(body).toEqual([expect.objectContaining({ sandboxID, metadata: { own: '1' }, state: 'running' })])
    await api('DELETE', `/sandboxes/${sandboxID}`)
  })
})

describe('the inside of a sandbox', () => {
  let made: Made
  let other: Made
  beforeAll(async () => {
    ;[made, other] = await Promise.all([create(), create()])
  })
  afterAll(async () => {
    for (const { sandboxID } of [made, other]) await api('DELETE', `/sandboxes/${sandboxID}`)
  })

  it.each([
    ['none', {}],
    ['a wrong one', { 'x-access-token': 'x' }],
    ['an API key', { 'x-access-token': 'key' }],
    ['that of another sandbox', { 'x-access-token': 'other' }],
  ])('is closed to the access token: %s', async (_what, headers) => {
    const tokens: Record<string, string> = { other: other.envdAccessToken, key: offshoot.credentials.e2b_api_key }
    const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, tokens[value] ?? value]))
    for (const [method, path] of [
      ['GET', '/files?path=/etc/passwd'],
      ['POST', '/files?path=/tmp/x'],
      ['POST', '/process.Process/List'],
      ['POST', '/filesystem.Filesystem/Stat'],
    ] as const) {
      const body = method === 'POST' ? { body: {} } : {}
      expect([
        path,
        (await inside(made.sandboxID, ENVD_PORT, method, path, { headers: given, ...body })).status,
      ]).toEqual([path, 401])
    }
    const health = await inside(made.sandboxID, ENVD_PORT, 'GET', '/health', { headers: given })
    expect(health.status).toBe(204)
  })

  it('is found by the access token alone, and by the host', async () => {
    const { envdAccessToken, sandboxID } = made
    const url = offshoot.credentials.e2b_sandbox_url
    const byToken = await call('POST', `${url}/files?path=/tmp/a`, {
      headers: { 'x-access-token': envdAccessToken, 'content-type': 'application/octet-stream' },
      body: 'one',
    })
    expect([byToken.status, byToken.body]).toEqual([200, [{ name: 'a', type: 'file', path: '/tmp/a' }]])
    const host = `${ENVD_PORT}-${sandboxID}.${offshoot.credentials.e2b_domain}`
    const byHost = await call('GET', `${url}/files?path=/tmp/a`, {
      headers: { host, 'x-access-token': envdAccessToken },
    })
    expect([byHost.status, byHost.text]).toEqual([200, 'one'])
  })

  it.each([
    ['process.Process/SendSignal', { process: { pid: 1 }, signal: 'SIGNAL_SIGKILL' }, 404, 'not_found'],
    ['process.Process/SendSignal', { process: { pid: 99_999 }, signal: 'SIGNAL_UNSPECIFIED' }, 400, 'invalid_argument'],
    ['process.Process/SendInput', { process: { tag: 'none' }, input: { stdin: 'AA==' } }, 404, 'not_found'],
    ['process.Process/SendInput', { process: 5 }, 400, 'invalid_argument'],
    ['process.Process/None', {}, 404, undefined],
    ['filesystem.Filesystem/Stat', { path: '/none' }, 404, 'not_found'],
    ['filesystem.Filesystem/ListDir', { path: '/etc/passwd' }, 400, 'invalid_argument'],
    ['filesystem.Filesystem/MakeDir', { path: '/etc' }, 409, 'already_exists'],
    ['filesystem.Filesystem/MakeDir', { path: '/etc/passwd' }, 400, 'invalid_argument'],
    ['filesystem.Filesystem/Move', { source: '/none', destination: '/tmp/x' }, 404, 'not_found'],
    ['filesystem.Filesystem/GetWatcherEvents', { watcherId: randomUUID() }, 404, 'not_found'],
    ['filesystem.Filesystem/RemoveWatcher', { watcherId: randomUUID() }, 404, 'not_found'],
    ['filesystem.Filesystem/CreateWatcher', { path: '/none' }, 404, 'not_found'],
  ])('%s %j answers %i', async (method, body, status, code) => {
    const answer = await rpc(made, method, body)
    expect([answer.status, answer.body.code === status ? undefined : answer.body.code]).toEqual([status, code])
  })

  it('refuses metadata of files instead of dropping it', async () => {
    const { envdAccessToken, sandboxID } = made
    const headers = { 'x-access-token': envdAccessToken, 'x-metadata-author': 'a' }
    const answer = await inside(sandboxID, ENVD_PORT, 'POST', '/files?path=/tmp/m', { headers, body: 'one' })
    expect([answer.status, answer.body.message]).toEqual([501, expect.stringContaining('metadata of files')])
    expect((await rpc(made, 'filesystem.Filesystem/Stat', { path: '/tmp/m' })).status).toBe(404)
  })

  it('gives the changes of a folder to clients that ask for them', async () => {
    const { watcherId } = (await rpc(made, 'filesystem.Filesystem/CreateWatcher', { path: '/tmp' })).body
    expect((await rpc(other, 'filesystem.Filesystem/GetWatcherEvents', { watcherId })).status).toBe(404)
    await rpc(made, 'filesystem.Filesystem/MakeDir', { path: '/tmp/made' })
    await until('the event', async () => {
      const { body } = await rpc(made, 'filesystem.Filesystem/GetWatcherEvents', { watcherId })
      return (body.events ?? []).some(
        ({ name, type }: Record<string, string>) => name === 'made' && type === 'EVENT_TYPE_CREATE',
      )
    })
    expect((await rpc(made, 'filesystem.Filesystem/RemoveWatcher', { watcherId })).status).toBe(200)
    expect((await rpc(made, 'filesystem.Filesystem/GetWatcherEvents', { watcherId })).status).toBe(404)
  })

  it('keeps its access token when the gateway is killed', { tags: ['faults'] }, async () => {
    await offshoot.killService('e2b')
    await until('the gateway', async () => {
      const answer = await rpc(made, 'process.Process/List', {}).catch(() => null)
      return answer?.status === 200
    })
  })

  it('serves ports, and says in the form of E2B that one is closed', { tags: ['long'] }, async () => {
    const { sandboxID } = made
    const start = { cmd: 'cd /tmp && python3 -m http.server 8000', background: true, user: 'user' }
    await api('GET', `/sandboxes/${sandboxID}`)
    const id = sandboxID.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: start })
    await until('the server', async () => (await inside(sandboxID, 8000, 'GET', '/')).status === 200)
    const closed = await inside(sandboxID, 3000, 'GET', '/')
    const message = 'The sandbox is running but port is not open'
    expect([closed.status, closed.body]).toEqual([502, { sandboxId: sandboxID, message, port: 3000, code: 502 }])
    const page = await inside(sandboxID, 3000, 'GET', '/', { headers: { 'user-agent': BROWSER } })
    expect([page.status, page.headers['content-type']]).toEqual([502, 'text/html; charset=utf-8'])
    expect(page.text).toContain('<title>Closed Port Error</title>')
  })

  it('is not found after its end, nor if it never was', async () => {
    const ended = await create()
    await api('DELETE', `/sandboxes/${ended.sandboxID}`)
    for (const shown of [ended.sandboxID, randomUUID(), 'none', '<b>'])
      for (const port of [ENVD_PORT, 8000]) {
        const answer = await inside(shown, port, 'GET', '/health')
        const body = { sandboxId: shown, message: 'The sandbox was not found', code: 502 }
        expect([answer.status, answer.body]).toEqual([502, body])
      }
    const socket = new WebSocket(`${offshoot.credentials.e2b_sandbox_url}/`, {
      headers: { 'e2b-sandbox-id': ended.sandboxID, 'e2b-sandbox-port': '8000' },
    })
    await new Promise((resolve) => socket.once('error', resolve))
  })

  it('sleeps until a client connects, or with auto-resume until a request comes', { tags: ['faults'] }, async () => {
    const [asleep, resumed] = await Promise.all([create(), create({ autoPause: true, autoResume: { enabled: true } })])
    for (const { sandboxID } of [asleep, resumed])
      expect((await api('POST', `/sandboxes/${sandboxID}/pause`)).status).toBe(204)
    expect((await inside(asleep.sandboxID, ENVD_PORT, 'GET', '/health')).status).toBe(502)
    expect((await api('GET', `/sandboxes/${asleep.sandboxID}`)).body.state).toBe('paused')
    expect((await rpc(resumed, 'process.Process/List', {})).status).toBe(200)
    expect((await api('GET', `/sandboxes/${resumed.sandboxID}`)).body).toMatchObject({
      state: 'running',
      lifecycle: { onTimeout: 'pause', autoResume: true },
    })
    const connected = await api('POST', `/v2/sandboxes/${asleep.sandboxID}/connect`, { body: { timeout: 60 } })
    expect([connected.status, connected.body.envdAccessToken]).toEqual([201, asleep.envdAccessToken])
    const again = await api('POST', `/v2/sandboxes/${asleep.sandboxID}/connect`, { body: { timeout: 60 } })
    expect(again.status).toBe(200)
    expect((await api('POST', `/sandboxes/${asleep.sandboxID}/resume`, { body: {} })).status).toBe(409)
    for (const { sandboxID } of [asleep, resumed]) await api('DELETE', `/sandboxes/${sandboxID}`)
  })
})
