// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('names of snapshots', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let other: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'alice')
    other = await harness.tenant(control, 'bob')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })
  const sandbox = async (): Promise<string> => (await ask('POST', '/v1/sandboxes', { template: 'base' })).body.id

  it('are labels: several snapshots may have the same, and a list finds them', async () => {
    const id = await sandbox()
    const path = `/v1/sandboxes/${id}/snapshots`
    const name = `before ${'🛠'.repeat(60)}`
    const named = []
    for (const body of [{ name }, {}, { name }, { name: null }, { name: 'x' }])
      named.unshift(await ask('POST', path, body))
    expect(named.map(({ status, body }) => [status, body.name])).toEqual([
      [201, 'x'],
      [201, null],
      [201, name],
      [201, null],
      [201, name],
    ])
    const [newest, , second, , oldest] = named.map(({ body }) => body)
    expect(await ask('GET', `/v1/snapshots/${newest.id}`)).toMatchObject({ status: 200, body: newest })
    const query = `name=${encodeURIComponent(name)}`
    expect((await ask('GET', `/v1/snapshots?${query}`)).body).toEqual([second, oldest])
    const first = await ask('GET', `/v1/snapshots?limit=1&sandbox_id=${id}&${query}`)
    const next = /^<(http:[^>]+)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    const rest = await ask('GET', next.slice(control.url.length))
    expect([...first.body, ...rest.body]).toEqual([second, oldest])
    expect(rest.headers.get('link')).toBeNull()
    for (const none of ['name=before', 'name=X', 'name=', 'name=%00', `name=x&sandbox_id=${randomUUID()}`]) {
      expect((await ask('GET', `/v1/snapshots?${none}`)).body).toEqual([])
    }
    expect((await ask('GET', '/v1/snapshots?name=x', undefined, other.key)).body).toEqual([])
  })

  it.each([
    ['', 'name must not be empty'],
    ['x'.repeat(129), 'name must be at most 128 characters'],
    ['a\0b', 'name must not contain NUL or half a surrogate pair'],
    ['\ud83d', 'name must not contain NUL or half a surrogate pair'],
    [7, 'name must be a string'],
    [['x'], 'name must be a string'],
    [{}, 'name must be a string'],
  ])('are refused: %j', async (name, error) => {
    const id = await sandbox()
    const answer = await ask('POST', `/v1/sandboxes/${id}/snapshots`, { name })
    expect(answer).toMatchObject({ status: 400, body: { error } })
    expect((await ask('GET', `/v1/snapshots?sandbox_id=${id}`)).body).toEqual([])
  })
})
