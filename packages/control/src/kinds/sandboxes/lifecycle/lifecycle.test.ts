// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('/v1/sandboxes/{id}/lifecycle', () => {
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

  beforeEach(() => {
    agent.onAction = async () => undefined
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const create = async (body: object = {}): Promise<string> => {
    const options = { token: tenant.key, body: { template: 'base', ...body } }
    return (await call(control.url, 'POST', '/v1/sandboxes', options)).body.id
  }
  const get = (id: string) => call(control.url, 'GET', `/v1/sandboxes/${id}/lifecycle`, { token: tenant.key })
  const patch = (id: string, body: unknown) =>
    call(control.url, 'PATCH', `/v1/sandboxes/${id}/lifecycle`, { token: tenant.key, body })
  const settingsAtAgent = (id: string) => agent.state.lifecycles.get(id)
  const isUnsettled = async (id: string): Promise<boolean> => {
    const { rows } = await harness.pool.query('select lifecycle_unsettled_at from sandboxes where id = $1', [id])
    return rows[0].lifecycle_unsettled_at !== null
  }
  const secondsLeft = ({ expires_at }: { expires_at: string }) => (Date.parse(expires_at) - Date.now()) / 1000

  it('GET shows it, with the idle time the agent tells', async () => {
    const id = await create({ ttl_seconds: 90, idle_timeout_seconds: 61 })
    const { status, body } = await get(id)
    expect(status).toBe(200)
    expect(body).toEqual({
      ttl_seconds: 90,
      persistent: false,
      idle_seconds: 7,
      idle_timeout_seconds: 61,
      on_timeout: 'delete',
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(settingsAtAgent(id)).toMatchObject({ idle_timeout_seconds: 61 })
  })

  it('tells the agent of a persistent sandbox when it is created', async () => {
    const id = await create({ persistent: true })
    expect(settingsAtAgent(id)).toMatchObject({ persistent: true })
    expect((await get(id)).body).toMatchObject({ persistent: true, expires_at: null, idle_timeout_seconds: 600 })
  })

  it('PATCH ttl_seconds counts from now, and asks nothing of the agent but the idle time', async () => {
    const id = await create({ ttl_seconds: 60 })
    await harness.pool.query(`update sandboxes set created_at = now() - interval '50 s' where id = $1`, [id])
    const { status, body } = await patch(id, { ttl_seconds: 1000 })
    expect({ status, body }).toMatchObject({ status: 200, body: { ttl_seconds: 1000, persistent: false } })
    expect(secondsLeft(body)).toBeGreaterThan(990)
    expect((await get(id)).body).toEqual(body)
  })

  it('PATCH persistent clears the expiry, and sets it anew from now', async () => {
    const id = await create({ ttl_seconds: 1000 })
    expect((await patch(id, { persistent: true })).body).toMatchObject({ persistent: true, expires_at: null })
    expect(settingsAtAgent(id)).toMatchObject({ persistent: true })
    expect((await patch(id, { persistent: true, ttl_seconds: 500 })).body).toMatchObject({ expires_at: null })
    const { body } = await patch(id, { persistent: false })
    expect(body).toMatchObject({ persistent: false, ttl_seconds: 500 })
    expect(secondsLeft(body)).toBeGreaterThan(490)
    expect(settingsAtAgent(id)).toMatchObject({ persistent: false })
    expect((await patch(id, { persistent: false })).body.expires_at).toBe(body.expires_at)
    expect(await isUnsettled(id)).toBe(false)
  })

  it.each([{}, { ttl_seconds: null, persistent: null, idle_timeout_seconds: null }, { unknown: 1 }])(
    'PATCH %j changes nothing',
    async (body) => {
      const id = await create()
      const before = (await get(id)).body
      expect(await patch(id, body)).toMatchObject({ status: 200, body: before })
    },
  )

  it.each([
    [{ ttl_seconds: 0 }, 'ttl_seconds must be >= 1'],
    [{ ttl_seconds: 1.5 }, 'ttl_seconds must be an integer'],
    [{ ttl_seconds: '60' }, 'ttl_seconds must be an integer'],
    [{ ttl_seconds: 1e12 }, 'ttl_seconds must be <= 2147483647'],
    [{ persistent: 'yes' }, 'persistent must be a boolean'],
    [{ persistent: 1 }, 'persistent must be a boolean'],
    [{ idle_timeout_seconds: 59 }, 'idle_timeout_seconds must be >= 60'],
    [{ idle_timeout_seconds: true }, 'idle_timeout_seconds must be an integer'],
    ['[]', 'invalid json'],
    ['{', 'invalid json'],
  ])('PATCH %j is refused, and changes nothing', async (body, error) => {
    const id = await create()
    const before = (await get(id)).body
    expect(await patch(id, body)).toMatchObject({ status: 400, body: { error } })
    expect((await get(id)).body).toEqual(before)
  })

  it('answers 404 for an unknown id, a malformed one and another workspace’s', async () => {
    const id = await create()
    const other = await harness.tenant(control, 'other')
    for (const method of ['GET', 'PATCH']) {
      for (const [sandbox, token] of [
        [randomUUID(), tenant.key],
        ['x', tenant.key],
        [id, other.key],
      ] as const) {
        const answer = await call(control.url, method, `/v1/sandboxes/${sandbox}/lifecycle`, { token })
        expect(answer).toMatchObject({ status: 404, body: { error: 'not found' } })
      }
    }
  })

  it('of a failed sandbox is known without its agent, and of one in the making not at all', async () => {
    const id = await create()
    agent.log('vm.died', id)
    await eventually(async () => {
      const { rows } = await harness.pool.query('select status from sandboxes where id = $1', [id])
      return rows[0].status === 'failed'
    })
    agent.onAction = async () => ({ status: 404, body: { error: 'sandbox not found or not running' } })
    expect(await get(id)).toMatchObject({ status: 200, body: { idle_seconds: 0 } })
    expect(await patch(id, { persistent: true })).toMatchObject({ status: 200, body: { expires_at: null } })
    await harness.pool.query(`update sandboxes set status = 'creating' where id = $1`, [id])
    expect(await get(id)).toMatchObject({ status: 404, body: { error: 'sandbox not found or not running' } })
  })

  it.each([{ persistent: true }, { idle_timeout_seconds: 90 }, { ttl_seconds: 5 }])(
    'PATCH %j without the agent is 502 and changes nothing; what the agent may have heard is taken back',
    async (change) => {
      const id = await create()
      const before = (await get(id)).body
      const unanswered = { persistent: true, idle_timeout_seconds: 90 }
      agent.onAction = async () => {
        agent.state.lifecycles.set(id, unanswered)
        return { status: 503, body: { error: 'shutting down' } }
      }
      expect(await patch(id, change)).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
      agent.onAction = async () => undefined
      expect((await get(id)).body).toEqual(before)
      if ('ttl_seconds' in change) return
      expect(await isUnsettled(id)).toBe(true)
      // Pretends that the longest time that a change may take has passed.
      await harness.pool.query(
        `update sandboxes set lifecycle_unsettled_at = now() - interval '1 hour' where id = $1`,
        [id],
      )
      agent.cutStreams()
      await eventually(async () => !(await isUnsettled(id)))
      expect(settingsAtAgent(id)).toMatchObject({ persistent: false, idle_timeout_seconds: 600 })
    },
  )

  it('two changes at once leave the agent with what the row says', async () => {
    const id = await create()
    const late = Promise.withResolvers<void>()
    agent.onAction = async (_action, _id, body) => {
      if ((body as { persistent?: boolean }).persistent === true) await late.promise
      return undefined
    }
    const first = patch(id, { persistent: true })
    await eventually(() => isUnsettled(id))
    expect((await patch(id, { persistent: false })).status).toBe(200)
    late.resolve()
    expect((await first).status).toBe(200)
    expect(await isUnsettled(id)).toBe(true)
    agent.onAction = async () => undefined
    await harness.pool.query(`update sandboxes set lifecycle_unsettled_at = now() - interval '1 hour' where id = $1`, [
      id,
    ])
    agent.cutStreams()
    await eventually(async () => !(await isUnsettled(id)))
    expect(settingsAtAgent(id)?.persistent).toBe((await get(id)).body.persistent)
  })

  it('cannot be changed once its deletion has begun', async () => {
    const id = await create()
    await harness.pool.query(`update sandboxes set deletion_due_at = now() + interval '1 hour' where id = $1`, [id])
    for (const change of [{ ttl_seconds: 100 }, { persistent: true }]) {
      expect(await patch(id, change)).toMatchObject({ status: 404, body: { error: 'sandbox not found' } })
    }
  })
})
