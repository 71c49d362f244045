// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const STATUS_REFUSED =
  'status must be one of creating, running, paused, hibernated, failed, or several of them with commas'

describe('GET /v1/sandboxes', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })

  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const create = (body: object = {}) =>
    call(control.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base', ...body } })
  const list = (query = '') => call(control.url, 'GET', `/v1/sandboxes${query}`, { token: tenant.key })
  const remove = (id: string) => call(control.url, 'DELETE', `/v1/sandboxes/${id}`, { token: tenant.key })

  it('is an empty array at first', async () => {
    expect(await list()).toMatchObject({ status: 200, body: [] })
  })

  it('filters by template, status and tags', async () => {
    const red = (await create({ metadata: { team: 'red', stage: 'x y' } })).body.id
    const blue = (await create({ template: 'minimal', metadata: { team: 'blue' } })).body.id
    const ids = async (query: string) => (await list(query)).body.map(({ id }: { id: string }) => id)
    expect(await ids('')).toEqual([blue, red])
    expect(await ids('?template=minimal')).toEqual([blue])
    expect(await ids('?metadata.team=red')).toEqual([red])
    expect(await ids('?metadata.team=red&metadata.stage=x%20y')).toEqual([red])
    expect(await ids('?metadata.team=red&template=minimal')).toEqual([])
    expect(await ids('?status=running')).toEqual([blue, red])
    expect(await ids('?status=paused')).toEqual([])
    expect(await ids('?status=paused,running')).toEqual([blue, red])
    expect(await ids('?status=paused&status=running,failed')).toEqual([blue, red])
    expect(await ids('?status=paused,hibernated&status=failed')).toEqual([])
    expect(await ids('?order=desc')).toEqual([blue, red])
    expect(await ids('?order=asc')).toEqual([red, blue])
    expect(await ids('?order=asc&status=running&metadata.team=blue')).toEqual([blue])
    expect(await ids('?metadata.team=%00&template=%00')).toEqual([])
  })

  it.each([
    ['?limit=0', 'limit must be an integer from 1 to 1000'],
    ['?limit=1001', 'limit must be an integer from 1 to 1000'],
    ['?limit=ten', 'limit must be an integer from 1 to 1000'],
    ['?limit=1&limit=2', 'limit must be an integer from 1 to 1000'],
    ['?status=gone', STATUS_REFUSED],
    ['?status=', STATUS_REFUSED],
    ['?status=running,', STATUS_REFUSED],
    ['?status=running,gone', STATUS_REFUSED],
    ['?status=running&status=gone', STATUS_REFUSED],
    ['?status=Running', STATUS_REFUSED],
    ['?order=newest', 'order must be one of asc, desc'],
    ['?order=', 'order must be one of asc, desc'],
    ['?order=asc&order=desc', 'order must be one of asc, desc'],
    ['?created_after=soon', 'created_after must be a timestamp'],
    ['?cursor=nonsense', 'cursor is not one this list gave out'],
    ['?template=a&template=b', 'template must be given once'],
    ['?metadata.a=1&metadata.a=2', 'metadata.a must be given once'],
  ])('refuses %s', async (query, error) => {
    const { status, body } = await list(query)
    expect({ status, body }).toEqual({ status: 400, body: { error } })
  })

  it.each(['asc', 'desc'])('refuses the cursor of the other order than %s', async (order) => {
    await Promise.all([create(), create()])
    const { headers } = await list(`?limit=1&order=${order}`)
    const cursor = /cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1]
    expect((await list(`?order=${order}&cursor=${cursor}`)).body).toHaveLength(1)
    expect(await list(`?order=${order === 'asc' ? 'desc' : 'asc'}&cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { error: 'cursor is not one this list gave out' },
    })
  })

  it.each(['asc', 'desc'])('turns pages in order %s without gap or repeat while others change', async (order) => {
    const made: string[] = []
    for (let n = 0; n < 7; n++) made.push((await create({ metadata: { kept: 'yes' } })).body.id)
    if (order === 'desc') made.reverse()
    const seen: string[] = []
    let path: string | undefined =
      `/v1/sandboxes?limit=3&metadata.kept=yes&order=${order}&status=running&status=paused,hibernated`
    while (path !== undefined) {
      const { body, headers } = await call(control.url, 'GET', path, { token: tenant.key })
      seen.push(...body.map(({ id }: { id: string }) => id))
      if (order === 'desc') await create({ metadata: { kept: 'yes' } })
      await remove(seen.at(-1) ?? '')
      const next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
      path = next?.slice(control.url.length)
    }
    expect(seen).toEqual(made)
  })
})
