import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('/v1/sandboxes/{id}/ports', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let id: string
  let listening: number[]

  beforeAll(async () => {
    agent = await FakeAgent.start()
    agent.onOperation = ({ url }, response: ServerResponse) => {
      if (!url?.endsWith('/listeners')) return false
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ports: listening }))
      return true
    }
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  beforeEach(async () => {
    listening = []
    id = (await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })).body.id
  })

  const ask = (method: string, path = '', body?: unknown, token = alice.key) =>
    call(control.url, method, `/v1/sandboxes/${id}/ports${path}`, { token, ...(body !== undefined && { body }) })
  const url = (port: number) => `http://${port}-${id}.localhost:8081`

  it('are none at first', async () => {
    expect(await ask('GET')).toMatchObject({ status: 200, body: [] })
  })

  it('are what the user named and what listens', async () => {
    const named = { port: 3000, label: 'web', listening: false, source: 'user', url: url(3000) }
    expect(await ask('POST', '', { port: 3000, label: 'web' })).toMatchObject({ status: 201, body: named })
    expect((await ask('POST', '', { port: 9, label: null })).body).toMatchObject({ port: 9, label: null })
    listening = [3000, 5173]
    expect((await ask('GET')).body).toEqual([
      { port: 9, label: null, listening: false, source: 'user', url: url(9) },
      { ...named, listening: true },
      { port: 5173, label: null, listening: true, source: 'detected', url: url(5173) },
    ])
    expect((await ask('POST', '', { port: 5173 })).body).toMatchObject({ listening: true, source: 'user' })
  })

  it('get a new name by being named again, by two at once too', async () => {
    const answers = await Promise.all(['a', 'b'].map((label) => ask('POST', '', { port: 80, label })))
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    await ask('POST', '', { port: 80, label: 'c' })
    expect((await ask('GET')).body).toMatchObject([{ port: 80, label: 'c' }])
  })

  it.each([
    ['/3000', undefined],
    ['?port=3000', undefined],
    ['', { port: 3000 }],
  ])('lose their name by DELETE ports%s %j, once', async (path, body) => {
    await ask('POST', '', { port: 3000 })
    const answers = await Promise.all([ask('DELETE', path, body), ask('DELETE', path, body)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404])
    expect((await ask('GET')).body).toEqual([])
  })

  it.each([
    [{}, 'port required'],
    [{ port: null }, 'port required'],
    [{ port: '80' }, 'port must be an integer'],
    [{ port: 1.5 }, 'port must be an integer'],
    [{ port: 0 }, 'port must be >= 1'],
    [{ port: 65_536 }, 'port must be <= 65535'],
    [{ port: 1, label: 5 }, 'label must be a string'],
    [{ port: 1, label: 'x'.repeat(129) }, 'label must be at most 128 characters'],
    [[], 'invalid json'],
  ])('are not named by %j', async (body, error) => {
    expect(await ask('POST', '', body)).toMatchObject({ status: 400, body: { error } })
  })

  it.each(['/0', '/65536', '/x', '/03', '?port=', '?port=0', '?port=1&port=2'])(
    'are not removed by ports%s',
    async (path) => {
      expect(await ask('DELETE', path)).toMatchObject({ status: 400 })
    },
  )

  it('are not removed without a port number', async () => {
    expect(await ask('DELETE')).toMatchObject({ status: 400, body: { error: 'port required' } })
  })

  it('have a maximum, for callers at the same time too', { tags: ['faults'] }, async () => {
    for (let port = 1; port <= 120; port++) await ask('POST', '', { port })
    const answers = await Promise.all(Array.from({ length: 20 }, (_each, at) => ask('POST', '', { port: 200 + at })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(8)
    expect(answers.find(({ status }) => status !== 201)).toMatchObject({
      status: 429,
      body: { error: 'max ports reached', max: 128 },
    })
    expect((await ask('POST', '', { port: 1, label: 'known' })).status).toBe(201)
  })

  it('are hidden from other workspaces, and are deleted with their sandbox', async () => {
    const bob = await harness.tenant(control, `bob-${randomUUID()}`)
    await ask('POST', '', { port: 1 })
    for (const [method, path, body] of [['GET'], ['POST', '', { port: 2 }], ['DELETE', '/1']] as const) {
      expect(await ask(method, path, body, bob.key)).toMatchObject({ status: 404, body: { error: 'not found' } })
    }
    await call(control.url, 'DELETE', `/v1/sandboxes/${id}`, { token: alice.key })
    for (const method of ['GET', 'POST']) {
      expect((await ask(method, '', method === 'GET' ? undefined : { port: 1 })).status).toBe(404)
    }
    const { rows } = await harness.pool.query('select 1 from sandbox_ports where sandbox_id = $1', [id])
    expect(rows).toEqual([])
  })

  it('of an agent that is away are 502, and nothing is named', async () => {
    const before = agent.onOperation
    agent.onOperation = (request) => request.socket.destroy() !== undefined
    expect((await ask('POST', '', { port: 1 })).status).toBe(502)
    expect((await ask('GET')).status).toBe(502)
    agent.onOperation = before
    expect((await ask('GET')).body).toEqual([])
  })
})
