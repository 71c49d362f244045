import type { WorkspaceId } from '@offshoot/contract/ids'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { FakeStripe } from '../../test/fake-stripe.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { setPlan } from './limits/set-plan.ts'
import { settleStorage } from './metering/settle-storage.ts'
import { reportOverage } from './report-overage.ts'

const DAY_MS = 24 * 3600 * 1000

let harness: Harness
let stripe: FakeStripe
let agent: FakeAgent
let control: RunningControl
let tenant: Tenant
beforeAll(async () => {
  ;[stripe, agent, harness] = await Promise.all([FakeStripe.start(), FakeAgent.start(), Harness.start()])
  control = await harness.control([agent], {
    limits: { default_plan: 'free', rate_burst: 1_000_000, rate_per_second: 1_000_000 },
    stripe: {
      secret_key: FakeStripe.SECRET_KEY,
      webhook_secret: FakeStripe.WEBHOOK_SECRET,
      prices: { pro: 'price_pro', team: 'price_team' },
      overage_meter: 'volume_mib_hours',
      api_url: stripe.url,
    },
  })
  tenant = await harness.tenant(control, 'subscriber')
})
afterAll(async () => {
  await harness.stop()
  await agent.kill()
  await stripe.stop()
})

const post = (path: string, body?: unknown) => call(control.url, 'POST', path, { token: tenant.key, body })

/** Pays a checkout of the plan `pro`. @returns the customer */
async function subscribe(): Promise<string> {
  await post('/v1/billing/checkout', { plan: 'pro' })
  const { rows } = await harness.pool.query('select customer_id from workspace_accounts where workspace_id = $1', [
    tenant.workspaceId,
  ])
  const customer = rows[0]?.customer_id
  stripe.subscriptions.push({ id: 'sub_1', customer, status: 'active', created: Date.now(), price: 'price_pro' })
  await post('/v1/billing/sync')
  return customer
}

it(
  'reports what volumes have beyond the plan, each day once, also after failures and missed days',
  { tags: 'only-once' },
  async () => {
    const unreported = async () =>
      (await harness.pool.query('select from overage_days where reported_at is null')).rows.length
    const dayBefore = (ms: number) => new Date(ms - DAY_MS).toISOString().slice(0, 10)
    const customer = await subscribe()
    const { body: sandbox } = await post('/v1/sandboxes', { template: 'base' })
    const volume = (sizeMib: number) =>
      harness.pool.query(
        `insert into volumes (id, workspace_id, agent_id, creator, kind, name, size_mb, status)
       select gen_random_uuid(), workspace_id, agent_id, 0, 'volume', gen_random_uuid()::text, $2, 'ready'
       from sandboxes where id = $1`,
        [sandbox.id, sizeMib],
      )
    const metered = async () => {
      const { rows } = await harness.pool.query('select state, memory_mib from meters where id = $1', [
        tenant.workspaceId,
      ])
      return rows[0]
    }
    await volume(10 * 1024)
    await settleStorage(harness.pool)
    expect(await metered()).toBeUndefined()
    await volume(2 * 1024)
    await settleStorage(harness.pool)
    expect(await metered()).toEqual({ state: 'storage', memory_mib: 2048 })
    expect(await settleStorage(harness.pool)).toBe(0)
    // Moves the transitions six days into the past.
    const { workspaceId } = tenant
    const shift = `- interval '6 days'`
    await harness.pool.query(`update meter_transitions set at = at ${shift} where meter_id = $1`, [workspaceId])
    await harness.pool.query(`update meters set since = since ${shift} where id = $1`, [workspaceId])
    // Just after midnight, yesterday is not settled yet.
    const now = Date.parse(`${new Date().toISOString().slice(0, 10)}T12:00:00Z`) - 3 * DAY_MS
    await reportOverage(control.control, now)
    const day = dayBefore(now)
    const reported = () => stripe.meterEvents.filter(({ identifier = '' }) => identifier.startsWith(workspaceId))
    expect(reported()).toMatchObject([
      {
        event_name: 'volume_mib_hours',
        identifier: `${tenant.workspaceId}:${day}`,
        'payload[stripe_customer_id]': customer,
        'payload[value]': `${2048 * 24}`,
      },
    ])
    await reportOverage(control.control, now)
    expect(reported()).toHaveLength(1)
    // The provider has the report, but its answer was lost. It refuses the report the second time.
    await harness.pool.query('update overage_days set reported_at = null where workspace_id = $1', [workspaceId])
    await reportOverage(control.control, now)
    expect(reported()).toHaveLength(1)
    expect(await unreported()).toBe(0)
    // A later run catches up on days on which no process ran, and on days that the provider did not accept.
    stripe.failure = { status: 500, body: { error: { type: 'api_error', message: 'away' } } }
    await reportOverage(control.control, now + 3 * DAY_MS)
    expect(await unreported()).toBe(3)
    stripe.failure = null
    await reportOverage(control.control, now + 3 * DAY_MS)
    expect(reported().map(({ identifier }) => identifier)).toEqual(
      [0, 1, 2, 3].map((days) => `${workspaceId}:${dayBefore(now + days * DAY_MS)}`),
    )
    expect(await unreported()).toBe(0)
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'team')
    await settleStorage(harness.pool)
    expect(await metered()).toMatchObject({ state: 'ended' })
  },
)
