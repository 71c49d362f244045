import type { WorkspaceId } from '@offshoot/contract/ids'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { retryJob } from '../../platform/jobs/operated-jobs.ts'
import { setPlan } from './limits/set-plan.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { FakeStripe } from '../../test/fake-stripe.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const LIMITS = { default_plan: 'free', rate_burst: 1_000_000, rate_per_second: 1_000_000 } as const

describe('subscriptions', () => {
  let harness: Harness
  let stripe: FakeStripe
  let agent: FakeAgent
  let control: RunningControl
  let unpaid: RunningControl
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    ;[stripe, agent, harness] = await Promise.all([FakeStripe.start(), FakeAgent.start(), Harness.start()])
    control = await harness.control([agent], {
      limits: LIMITS,
      stripe: {
        secret_key: FakeStripe.SECRET_KEY,
        webhook_secret: FakeStripe.WEBHOOK_SECRET,
        prices: { pro: 'price_pro', team: 'price_team' },
        overage_meter: 'volume_mib_hours',
        return_url: 'https://app.example.com/billing',
        api_url: stripe.url,
      },
    })
    unpaid = await harness.control([agent], { limits: LIMITS })
  })

  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `subscriber-${tenants}`)
  })

  afterEach(() => {
    stripe.failure = null
    stripe.onList = async () => undefined
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
    await stripe.stop()
  })

  const post = (path: string, body?: unknown, url = control.url) => call(url, 'POST', path, { token: tenant.key, body })
  const create = () => post('/v1/sandboxes', { template: 'base' })
  const webhook = (event: { body: string; headers: Record<string, string> }, url = control.url) =>
    call(url, 'POST', '/v1/webhooks/stripe', event)
  const customerOf = async (): Promise<string> => {
    const { rows } = await harness.pool.query('select customer_id from workspace_accounts where workspace_id = $1', [
      tenant.workspaceId,
    ])
    return rows[0]?.customer_id
  }
  /** Puts the provider in the state after a paid checkout. */
  async function subscribe(price = 'price_pro', status = 'active') {
    await post('/v1/billing/checkout', { plan: 'pro' })
    const customer = await customerOf()
    const subscription = { id: `sub_${stripe.subscriptions.length}`, customer, status, created: Date.now(), price }
    stripe.subscriptions.push(subscription)
    return subscription
  }

  it('are begun on the provider’s page, for one customer a workspace, and lead back to where the operator says', async () => {
    const answers = await Promise.all(
      [1, 2, 3].map(() => post('/v1/billing/checkout', { plan: 'team', success_url: 'https://evil.example' })),
    )
    const customer = await customerOf()
    for (const { status, body } of answers) {
      expect({ status, body }).toEqual({
        status: 200,
        body: { url: `https://checkout.example/${customer}/price_team?back=https://app.example.com/billing` },
      })
    }
    expect([...stripe.customers].filter(([, workspace]) => workspace === tenant.workspaceId)).toHaveLength(1)
    expect((await post('/v1/billing/portal')).body).toEqual({ url: `https://portal.example/${customer}` })
  })

  it.each([
    [{}, 400, 'plan must be one of pro, team'],
    [{ plan: 'enterprise' }, 400, 'plan must be one of pro, team'],
    [{ plan: 7 }, 400, 'plan must be one of pro, team'],
  ])('refuse a checkout of %j', async (body, status, error) => {
    expect(await post('/v1/billing/checkout', body)).toMatchObject({ status, body: { error } })
  })

  it('have no portal before there is a customer', async () => {
    expect(await post('/v1/billing/portal')).toMatchObject({ status: 409, body: { error: 'no subscription' } })
  })

  it('set the plan when the provider says that something happened', async () => {
    const subscription = await subscribe()
    const event = FakeStripe.event(subscription.customer, 'customer.subscription.created')
    expect(await webhook(event)).toMatchObject({ status: 200, body: { ok: true } })
    expect((await post('/v1/billing/sync')).body).toEqual({
      plan: 'pro',
      subscription_status: 'active',
      credit_usd: 0,
      cost_usd_used: 0,
      synced_at: expect.stringMatching(/Z$/),
    })
    subscription.price = 'price_team'
    await webhook(event)
    expect((await call(control.url, 'GET', '/v1/me', { token: tenant.jwt })).body.org.plan).toBe('team')
  })

  it('ask how things are: an event that is late, or comes again, changes nothing', async () => {
    const subscription = await subscribe()
    const created = FakeStripe.event(subscription.customer, 'customer.subscription.created')
    await webhook(created)
    subscription.status = 'canceled'
    await webhook(FakeStripe.event(subscription.customer, 'customer.subscription.deleted'))
    await webhook(created)
    expect((await post('/v1/billing/sync')).body).toMatchObject({ plan: 'pro', subscription_status: 'canceled' })
  })

  it('never lets an older answer of the provider overwrite a newer one', async () => {
    const subscription = await subscribe()
    const reached = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    stripe.onList = () => {
      reached.resolve()
      return release.promise
    }
    const first = post('/v1/billing/sync')
    await reached.promise
    stripe.onList = async () => undefined
    subscription.status = 'past_due'
    const second = post('/v1/billing/sync')
    release.resolve()
    await Promise.all([first, second])
    expect((await create()).body).toEqual({ error: 'subscription not active', subscription_status: 'past_due' })
  })

  it.each(['past_due', 'canceled', 'unpaid'])(
    'that are %s refuse creates, and leave alone what runs',
    async (status) => {
      const subscription = await subscribe()
      await post('/v1/billing/sync')
      const { body: running } = await create()
      subscription.status = status
      await post('/v1/billing/sync')
      expect(await create()).toMatchObject({
        status: 402,
        body: { error: 'subscription not active', subscription_status: status },
      })
      expect((await post(`/v1/sandboxes/${running.id}/exec`, { cmd: 'true' })).status).toBe(200)
      subscription.status = 'active'
      await post('/v1/billing/sync')
      expect((await create()).status).toBe(201)
    },
  )

  it('that were never paid are none; of several the one that is not over counts', async () => {
    const first = await subscribe('price_pro', 'incomplete')
    expect((await post('/v1/billing/sync')).body).toMatchObject({
      plan: 'free',
      subscription_status: null,
      credit_usd: 5.4,
    })
    first.status = 'active'
    const newer = await subscribe('price_team', 'canceled')
    newer.created = first.created + 1
    expect((await post('/v1/billing/sync')).body).toMatchObject({ plan: 'pro', subscription_status: 'active' })
  })

  it('are sold once: a second checkout is refused, and of two that were paid at once the older is cancelled', async () => {
    const first = await subscribe()
    expect(await post('/v1/billing/checkout', { plan: 'team' })).toMatchObject({
      status: 409,
      body: { error: 'already subscribed' },
    })
    const second = { ...first, id: `${first.id}_again`, created: first.created + 1, price: 'price_team' }
    stripe.subscriptions.push(second)
    expect((await post('/v1/billing/sync')).body).toMatchObject({ plan: 'team', subscription_status: 'active' })
    expect([first.status, second.status]).toEqual(['canceled', 'active'])
    second.status = 'canceled'
    expect((await post('/v1/billing/checkout', { plan: 'pro' })).status).toBe(200)
  })

  it('end with their workspace, which stays until the provider has cancelled them', async () => {
    const subscription = await subscribe()
    const isThere = async () =>
      (await harness.pool.query('select from organization where id = $1', [tenant.workspaceId])).rows.length === 1
    stripe.failure = { status: 500, body: { error: { type: 'api_error', message: 'away' } } }
    const path = `/v1/orgs/${tenant.workspaceId}`
    expect((await call(control.url, 'DELETE', path, { token: tenant.jwt })).status).toBe(204)
    const job = await eventually(async () => {
      const { rows } = await harness.pool.query<{ id: string }>(
        'select id from graphile_worker.jobs where key = $1 and last_error is not null and locked_at is null',
        [`empty-org:${tenant.workspaceId}`],
      )
      return rows[0]?.id
    })
    expect(await isThere()).toBe(true)
    stripe.failure = null
    await harness.pool.query('update organization set deletion_due_at = now() where id = $1', [tenant.workspaceId])
    await eventually(async () => {
      // Without it, the job waits for its next attempt.
      await retryJob(harness.pool, job)
      return !(await isThere())
    })
    expect(subscription.status).toBe('canceled')
  })

  it('leave a plan alone that an operator gave', async () => {
    const subscription = await subscribe()
    await post('/v1/billing/sync')
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'enterprise')
    subscription.status = 'canceled'
    expect((await post('/v1/billing/sync')).body).toMatchObject({ plan: 'enterprise', subscription_status: 'canceled' })
    expect((await create()).status).toBe(201)
  })

  it.each([
    ['another secret', FakeStripe.event('cus_1', 'x', { secret: 'whsec_2' })],
    ['an old moment', FakeStripe.event('cus_1', 'x', { ageSeconds: 3600 })],
    ['no signature', { body: '{}', headers: {} }],
    ['a signature of another body', { ...FakeStripe.event('cus_1', 'x'), body: '{}' }],
  ])('take no event signed with %s', async (_what, event) => {
    expect(await webhook(event)).toMatchObject({
      status: 401,
      body: { error: 'unauthorized', detail: 'invalid signature' },
    })
  })

  it('ignore events about unknown customers and about those of other installations', async () => {
    expect((await webhook(FakeStripe.event(null, 'balance.available'))).status).toBe(200)
    expect((await webhook(FakeStripe.event('cus_of_another', 'customer.updated'))).status).toBe(200)
  })

  it('say that the provider is away, and change nothing', async () => {
    const subscription = await subscribe()
    await post('/v1/billing/sync')
    stripe.failure = { status: 500, body: { error: { type: 'api_error', message: 'secret of the provider' } } }
    const answers = [
      await post('/v1/billing/sync'),
      await post('/v1/billing/portal'),
      await webhook(FakeStripe.event(subscription.customer, 'customer.subscription.updated')),
    ]
    for (const { status, body } of answers) {
      expect({ status, body }).toEqual({ status: 502, body: { error: 'payment provider unreachable' } })
    }
    expect((await create()).status).toBe(201)
  })

  it('without a provider: sync answers what is stored, and the rest says so', async () => {
    expect((await post('/v1/billing/sync', undefined, unpaid.url)).body).toEqual({
      plan: 'free',
      subscription_status: null,
      credit_usd: 5.4,
      cost_usd_used: 0,
      synced_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    const answers = [
      await post('/v1/billing/checkout', { plan: 'pro' }, unpaid.url),
      await post('/v1/billing/portal', undefined, unpaid.url),
      await webhook(FakeStripe.event('cus_1', 'x'), unpaid.url),
    ]
    for (const { status, body } of answers) {
      expect({ status, body }).toEqual({ status: 503, body: { error: 'payments are not configured' } })
    }
  })
})
