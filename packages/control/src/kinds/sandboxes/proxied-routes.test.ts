import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProxiedRoute } from '../../fleet/proxy/proxied-route.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { proxiedRoutes } from './proxied-routes.ts'

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
  agent.onUpgrade = (_request, socket) => socket.end('HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\n{}')
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

const NONE = '00000000-0000-4000-8000-000000000000'
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
}

const pathOf = (route: ProxiedRoute, of: string) => route.url.replace(':id', of).replaceAll(/:\w+/g, 'x')

async function ask(route: ProxiedRoute, path: string, token?: string) {
  const request = httpRequest(control.url + path, {
    method: route.method,
    agent: false,
    headers: {
      ...(route.kind === 'websocket' && UPGRADE),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const ids = response.rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id').length
  return { status: response.statusCode, body: await text(response), ids }
}

const refused = (status: number, body: unknown) => ({ status, body: JSON.stringify(body), ids: 1 })
const unauthorized = (detail: string) => refused(401, { error: 'unauthorized', detail })
const named = proxiedRoutes.map((route) => ({ name: `${route.method} ${route.url}`, route }))

describe.each(named)('$name', ({ route }) => {
  it('is refused as every route is, before anything is forwarded', async () => {
    const before = agent.requests.length
    const notFound = refused(404, { error: 'not found' })
    expect(await ask(route, pathOf(route, id))).toEqual(unauthorized('missing bearer token'))
    expect(await ask(route, pathOf(route, id), 'x')).toEqual(unauthorized('invalid api token'))
    expect(await ask(route, pathOf(route, id), bob.key)).toEqual(notFound)
    expect(await ask(route, pathOf(route, NONE), alice.key)).toEqual(notFound)
    expect(await ask(route, pathOf(route, 'x'), alice.key)).toEqual(notFound)
    expect(agent.requests.slice(before).filter(({ path }) => path.startsWith('/v1/sandboxes/'))).toEqual([])
  })

  it('is refused for a sandbox that has failed where it needs its guest', async () => {
    const { status, body } = await ask(route, pathOf(route, await harness.twinOf(id, 'failed')), alice.key)
    if (route.needs === 'record') expect(body).not.toContain('not running')
    else expect([status, JSON.parse(body)]).toEqual([404, { error: 'sandbox not found or not running' }])
  })

  it('takes its credential from the query exactly when it streams by GET', async () => {
    const { status } = await ask(route, `${pathOf(route, id)}?access_token=${alice.key}`)
    const saved = ['/v1/sandboxes/:id/fs', '/v1/sandboxes/:id/fs/archive']
    const isOpen = route.method === 'GET' && (route.kind !== 'plain' || saved.includes(route.url))
    expect(status === 401).toBe(!isOpen)
  })
})
