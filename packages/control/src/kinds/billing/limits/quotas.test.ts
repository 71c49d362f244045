import { randomUUID } from 'node:crypto'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { setPlan } from './set-plan.ts'

const LIMITS = { default_plan: 'free', rate_burst: 1_000_000, rate_per_second: 1_000_000 } as const
/** Concurrent creates. The benchmark uses a thousand. */
const AT_ONCE = Number(process.env['OFFSHOOT_QUOTA_RACE'] ?? 100)

describe('quotas', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let other: RunningControl

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], { limits: LIMITS })
    other = await harness.control([agent], { limits: LIMITS })
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  afterEach(() => {
    agent.onCreate = async () => undefined
  })

  const create = ({ key: token }: Tenant, url = control.url) =>
    call(url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })
  const count = async ({ key: token }: Tenant) =>
    (await call(control.url, 'GET', '/v1/sandboxes?limit=1000', { token })).body.length as number
  const agentCreates = () =>
    agent.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/sandboxes').length

  it('lets exactly as many in as the plan has, however many ask at once and whichever process', async () => {
    const tenant = await harness.tenant(control, 'race')
    const askedBefore = agentCreates()
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => create(tenant, index % 2 === 0 ? control.url : other.url)),
    )
    const made = answers.filter(({ status }) => status === 201)
    const refused = answers.filter(({ status }) => status === 429)
    expect([made.length, refused.length]).toEqual([10, AT_ONCE - 10])
    for (const { body, headers } of refused) {
      expect(body).toEqual({ error: 'max sandboxes reached', max: 10, active: 10 })
      expect(headers.get('retry-after')).toBeNull()
    }
    expect(await count(tenant)).toBe(10)
    expect(agentCreates() - askedBefore).toBe(10)
  })

  it('counts the children of forks, all or none', async () => {
    const tenant = await harness.tenant(control, 'forks')
    const { body: parent } = await create(tenant)
    const tree = (size: number) =>
      call(control.url, 'POST', `/v1/sandboxes/${parent.id}/fork-tree`, { token: tenant.key, body: { count: size } })
    expect((await tree(5)).status).toBe(201)
    const refused = await tree(5)
    expect(refused).toMatchObject({ status: 429, body: { error: 'max sandboxes reached', max: 10, active: 6 } })
    expect((await tree(4)).status).toBe(201)
    const single = await call(control.url, 'POST', `/v1/sandboxes/${parent.id}/fork`, { token: tenant.key })
    expect(single).toMatchObject({ status: 429, body: { max: 10, active: 10 } })
    expect(await count(tenant)).toBe(10)
  })

  it('gives a slot back when a sandbox is deleted, and holds it when one is hibernated', async () => {
    const tenant = await harness.tenant(control, 'slots')
    const made = await Promise.all(Array.from({ length: 10 }, () => create(tenant)))
    const [first, second] = made.map(({ body }) => body.id as string)
    expect((await call(control.url, 'POST', `/v1/sandboxes/${first}/hibernate`, { token: tenant.key })).status).toBe(
      200,
    )
    expect((await create(tenant)).status).toBe(429)
    expect((await call(control.url, 'DELETE', `/v1/sandboxes/${second}`, { token: tenant.key })).status).toBe(204)
    expect((await create(tenant)).status).toBe(201)
  })

  it('counts creates within the last hour, those that are gone included, and not those that came to nothing', async () => {
    const tenant = await harness.tenant(control, 'hourly')
    agent.onCreate = async () => ({ status: 507, body: { error: 'insufficient host memory for sandbox' } })
    expect((await create(tenant)).status).toBe(507)
    agent.onCreate = async () => undefined
    const made = await create(tenant)
    await call(control.url, 'DELETE', `/v1/sandboxes/${made.body.id}`, { token: tenant.key })
    const past = (minutes: number, creates: number) =>
      harness.pool.query(
        `insert into sandbox_creates (sandbox_id, workspace_id, created_at)
         select gen_random_uuid(), $1, now() - make_interval(mins => $2) from generate_series(1, $3)`,
        [tenant.workspaceId, minutes, creates],
      )
    await past(61, 50)
    await past(59, 98)
    expect((await create(tenant)).status).toBe(201)
    const refused = await create(tenant)
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 429,
      body: { error: 'hourly create limit exceeded', limit_per_hr: 100, used_last_hr: 100 },
    })
  })

  it('counts vCPUs and memory', async () => {
    const tenant = await harness.tenant(control, 'memory')
    const { body } = await create(tenant)
    const { body: shown } = await call(control.url, 'GET', '/v1/usage/limits', { token: tenant.key })
    expect(shown).toMatchObject({ plan: 'free', subscription_status: null })
    const limits = shown.limits as readonly { readonly name: string; readonly used: number; readonly max: number }[]
    expect(Object.fromEntries(limits.map(({ name, used, max }) => [name, [used, max]]))).toEqual({
      sandboxes: [1, 10],
      cpu: [body.cpu, 10],
      memory_mib: [body.memory_mb, 16 * 1024],
      creates_last_hour: [1, 100],
      cpu_seconds_month: [expect.any(Number), 360_000],
      usage_usd_month: [expect.any(Number), null],
      credit_usd_month: [expect.any(Number), 5.4],
      volumes: [0, 1],
      volume_mib_included: [0, 1024],
      webhooks: [0, 3],
      members: [1, 1],
    })
    await harness.pool.query('update sandboxes set cpu = 9, memory_mb = 16000 where id = $1', [body.id])
    const refused = await create(tenant)
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 429,
      body: {
        error: 'workspace resource quota exceeded',
        cpu_used: 9,
        cpu_max: 10,
        memory_mb_used: 16_000,
        memory_mb_max: 16_384,
      },
    })
  })

  it('asks the plan of the moment', async () => {
    const tenant = await harness.tenant(control, 'upgraded')
    await Promise.all(Array.from({ length: 10 }, () => create(tenant)))
    expect((await create(tenant)).status).toBe(429)
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'pro')
    expect((await create(tenant)).status).toBe(201)
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'free')
    // Existing sandboxes stay.
    expect((await create(tenant)).body).toMatchObject({ max: 10, active: 11 })
    expect(await count(tenant)).toBe(11)
    const { body: me } = await call(control.url, 'GET', '/v1/me', { token: tenant.jwt })
    expect(me.org.plan).toBe('free')
  })

  it('refuses before any node is asked what a subscription does not pay for', async () => {
    const tenant = await harness.tenant(control, 'unpaid')
    const { body: running } = await create(tenant)
    await harness.pool.query(
      `update workspace_accounts set plan = 'pro', plan_source = 'subscription', subscription_status = 'past_due' where workspace_id = $1`,
      [tenant.workspaceId],
    )
    const askedBefore = agentCreates()
    const refused = await create(tenant)
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 402,
      body: { error: 'subscription not active', subscription_status: 'past_due' },
    })
    const fork = await call(control.url, 'POST', `/v1/sandboxes/${running.id}/fork`, { token: tenant.key })
    expect(fork.status).toBe(402)
    expect(agentCreates()).toBe(askedBefore)
    const exec = await call(control.url, 'POST', `/v1/sandboxes/${running.id}/exec`, {
      token: tenant.key,
      body: { cmd: 'true' },
    })
    expect(exec.status).toBe(200)
  })

  it('ask nothing of a plan without limits: its creates do not wait for the account', async () => {
    const tenant = await harness.tenant(control, 'unlimited')
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'self-hosted')
    const client = await harness.pool.connect()
    try {
      await client.query('begin')
      await client.query('select from workspace_accounts where workspace_id = $1 for update', [tenant.workspaceId])
      expect((await create(tenant)).status).toBe(201)
    } finally {
      await client.query('rollback')
      client.release()
    }
  })

  it('knows no plan for a workspace that is not there', async () => {
    await expect(setPlan(harness.pool, randomUUID() as WorkspaceId, 'pro')).rejects.toMatchObject({ status: 404 })
  })

  it('gives back what a process that died had counted', async () => {
    const tenant = await harness.tenant(control, 'died')
    agent.onCreate = () => new Promise(() => undefined)
    const unanswered = create(tenant, other.url).catch(() => undefined)
    await eventually(async () => (await count(tenant)) === 1)
    await harness.pool.query(`delete from sandboxes where workspace_id = $1 and status = 'creating'`, [
      tenant.workspaceId,
    ])
    agent.onCreate = async () => undefined
    const made = await Promise.all(Array.from({ length: 10 }, () => create(tenant)))
    expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201))
    await other.stop()
    await unanswered
  })
})
