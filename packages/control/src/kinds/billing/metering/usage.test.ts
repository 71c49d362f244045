import { randomUUID } from 'node:crypto'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { setPlan } from '../limits/set-plan.ts'
import { applyTransitions } from './apply-transitions.ts'
import { openMeters } from './meter-statements.ts'
import type { MeterState } from './meter-state.ts'
import { settleMeters } from './settle-meters.ts'

const ZERO = {
  running_seconds: 0,
  paused_seconds: 0,
  hibernated_seconds: 0,
  storage_seconds: 0,
  cpu_seconds: 0,
  cost_usd: 0,
  cost_micro_usd: 0,
}

describe('usage', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let other: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'used')
    other = await harness.tenant(control, 'unused')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const get = (path: string, token = tenant.key) => call(control.url, 'GET', path, { token })

  /** A sandbox of 1 vCPU and 1 GiB with these states from these moments on. */
  async function used(
    template: string,
    moments: readonly (readonly [at: string, state: MeterState])[],
    owner?: string,
  ) {
    const id = randomUUID()
    const size = { cpu: 1, memory_mib: 1024 }
    await openMeters(harness.pool, JSON.stringify([{ id, workspace_id: tenant.workspaceId, template, ...size }]))
    if (owner !== undefined) {
      await harness.pool.query('update meters set managed_by = $2, managed_id = $3 where id = $1', [id, 'app', owner])
    }
    await applyTransitions(
      harness.pool,
      moments.map(([at, state]) => ({ id, at, state })),
    )
    return id
  }

  it('is added up by what was asked, and is one workspace’s own', async () => {
    const app = randomUUID()
    const first = await used('base', [
      ['2026-01-30T23:00:00.000Z', 'running'],
      ['2026-01-31T01:00:00.000Z', 'paused'],
      ['2026-01-31T02:00:00.000Z', 'ended'],
    ])
    const second = await used(
      'minimal',
      [
        ['2026-01-31T10:00:00.000Z', 'running'],
        ['2026-01-31T10:00:10.000Z', 'hibernated'],
        ['2026-01-31T20:00:10.000Z', 'ended'],
      ],
      app,
    )
    const range = 'from=2026-01-01&to=2026-02-01'
    const by = async (grouping: string) => (await get(`/v1/usage?${range}&group_by=${grouping}`)).body
    const { from, to, total, groups } = await by('sandbox')
    expect({ from, to }).toEqual({ from: '2026-01-01', to: '2026-02-01' })
    // 7,200 s of 18.5 and 3,600 s of 4.5 micro-dollars; 10 s of 18.5 and 36,000 s at 0.15 dollars a month.
    expect(groups).toEqual([
      {
        ...ZERO,
        key: first,
        running_seconds: 7200,
        paused_seconds: 3600,
        cpu_seconds: 7200,
        cost_usd: 0.1494,
        cost_micro_usd: 149_400,
      },
      {
        ...ZERO,
        key: second,
        running_seconds: 10,
        hibernated_seconds: 36_000,
        cpu_seconds: 10,
        cost_usd: 0.002268,
        cost_micro_usd: 2268,
      },
    ])
    expect(total.cost_micro_usd).toBe(151_668)
    expect((await by('template')).groups.map(({ key }: { key: string }) => key)).toEqual(['base', 'minimal'])
    expect((await by('app')).groups.map(({ key }: { key: string }) => key)).toEqual([null, app])
    expect((await by('database')).groups.map(({ key }: { key: string }) => key)).toEqual([null])
    const days = (await by('day')).groups as { key: string; running_seconds: number }[]
    expect(days.map(({ key, running_seconds }) => [key, running_seconds])).toEqual([
      ['2026-01-30', 3600],
      ['2026-01-31', 3610],
    ])
    expect((await get(`/v1/usage?${range}`, other.key)).body).toMatchObject({ total: ZERO, groups: [] })
    const halfway = (await get('/v1/usage?from=2026-01-31T12:00:00Z&to=2026-01-31T12:00:00Z')).body
    expect(halfway).toMatchObject({ from: '2026-01-31', to: '2026-02-01', total: { running_seconds: 3610 } })
  })

  it('has a statement for each month', async () => {
    const { body } = await get('/v1/statements/2026-01')
    expect(body).toEqual({
      month: '2026-01',
      is_final: true,
      plan: 'self-hosted',
      currency: 'usd',
      lines: [
        { item: 'hibernated', seconds: 36_000, cpu_seconds: 0, cost_usd: 0.002083 },
        { item: 'paused', seconds: 3600, cpu_seconds: 0, cost_usd: 0.0162 },
        { item: 'running', seconds: 7210, cpu_seconds: 7210, cost_usd: 0.133385 },
      ],
      usage_usd: 0.151668,
      credit_usd: 0,
      total_usd: 0.151668,
    })
    expect((await get('/v1/statements/2025-12')).body.lines).toEqual([])
  })

  it('has a statement of a past month with the plans that held then', async () => {
    const past = await harness.tenant(control, 'changed-plans')
    const id = randomUUID()
    const size = { cpu: 1, memory_mib: 1024 }
    await openMeters(harness.pool, JSON.stringify([{ id, workspace_id: past.workspaceId, template: 'base', ...size }]))
    // A week, which costs more than the free credit.
    await applyTransitions(harness.pool, [
      { id, at: '2026-01-05T00:00:00Z', state: 'running' },
      { id, at: '2026-01-12T00:00:00Z', state: 'ended' },
    ])
    const statement = async () => (await get('/v1/statements/2026-01', past.key)).body
    for (const plan of ['free', 'pro', 'team'] as const) {
      await setPlan(harness.pool, past.workspaceId as WorkspaceId, plan)
      // Of two changes in one millisecond, only the last is recorded.
      await harness.pool.query(`update plan_changes set at = at - interval '1 s' where workspace_id = $1`, [
        past.workspaceId,
      ])
    }
    const { rows } = await harness.pool.query('select plan from plan_changes where workspace_id = $1 order by at', [
      past.workspaceId,
    ])
    expect(rows.map(({ plan }) => plan)).toEqual(['free', 'pro', 'team'])
    const began = (plan: string, at: string) =>
      harness.pool.query('update plan_changes set at = $3 where workspace_id = $1 and plan = $2', [
        past.workspaceId,
        plan,
        at,
      ])
    // Free in January, Pro until the end of March, then Team.
    await began('free', '2025-12-20T00:00:00Z')
    await began('pro', '2026-02-01T00:00:00Z')
    await began('team', '2026-04-01T00:00:00Z')
    const { usage_usd: used } = await statement()
    expect(used).toBeGreaterThan(5.4)
    expect(await statement()).toMatchObject({ plan: 'free', credit_usd: 5.4, total_usd: expect.closeTo(used - 5.4, 5) })
    expect(await statement()).not.toHaveProperty('plans')
    // Pro from the middle of a day on: that day still counts for Free.
    await began('pro', '2026-01-07T12:00:00Z')
    const perDay = used / 7
    const changed = await statement()
    expect(changed).toMatchObject({
      plan: 'pro',
      usage_usd: used,
      plans: [
        { plan: 'free', from: '2026-01-01' },
        { plan: 'pro', from: '2026-01-08', credit_usd: 0 },
      ],
    })
    expect(changed.plans[0].usage_usd).toBeCloseTo(3 * perDay, 4)
    expect(changed.credit_usd).toBeCloseTo(Math.min(5.4, 3 * perDay), 4)
    expect(changed.lines).toMatchObject([{ item: 'running', seconds: 7 * 86_400 }])
  })

  it.each(['2026-13', '1999-01', 'x', '2099-01', '2026-01-01'])('has no statement for %s', async (month) => {
    expect(await get(`/v1/statements/${month}`)).toMatchObject({ status: 404, body: { error: 'not found' } })
  })

  it.each([
    ['from=yesterday', 'from must be a date (YYYY-MM-DD) or a timestamp'],
    ['to=2026-02-30T99:99', 'to must be a date (YYYY-MM-DD) or a timestamp'],
    ['from=2026-01-01&from=2026-01-02', 'from must be given once'],
    ['group_by=planet', 'group_by must be one of sandbox, template, app, database, day'],
    ['from=2026-02-01&to=2026-01-01', 'from must not be after to'],
  ])('refuses %s', async (query, error) => {
    expect(await get(`/v1/usage?${query}`)).toMatchObject({ status: 400, body: { error } })
  })

  it('counts what runs up to now, and no more once it is deleted', async () => {
    const { body: sandbox } = await call(control.url, 'POST', '/v1/sandboxes', {
      token: tenant.key,
      body: { template: 'base' },
    })
    await eventually(async () => {
      const { body } = await get('/v1/usage?group_by=sandbox')
      return body.groups.some(
        (group: { key: string; cpu_seconds: number }) => group.key === sandbox.id && group.cpu_seconds >= 1,
      )
    })
    expect((await call(control.url, 'DELETE', `/v1/sandboxes/${sandbox.id}`, { token: tenant.key })).status).toBe(204)
    const stateOf = async () => {
      const { rows } = await harness.pool.query('select state from meters where id = $1', [sandbox.id])
      return rows[0]?.state as string
    }
    await eventually(async () => (await stateOf()) === 'ended')
    const { body: events } = await get(`/v1/events?sandbox_id=${sandbox.id}`)
    expect(events.map(({ type }: { type: string }) => type)).toEqual(['sandbox.deleted', 'sandbox.running'])
  })

  it('ends what failed without its agent saying so', async () => {
    const { body: sandbox } = await call(control.url, 'POST', '/v1/sandboxes', {
      token: tenant.key,
      body: { template: 'base' },
    })
    const state = async () =>
      (await harness.pool.query('select state from meters where id = $1', [sandbox.id])).rows[0]?.state
    await eventually(async () => (await state()) === 'running')
    expect(await settleMeters(harness.pool, 0)).toBe(0)
    await harness.pool.query(`update sandboxes set status = 'failed' where id = $1`, [sandbox.id])
    expect(await settleMeters(harness.pool, 3600)).toBe(0)
    expect(await settleMeters(harness.pool, 0)).toBe(1)
    expect(await state()).toBe('ended')
    expect(await settleMeters(harness.pool, 0)).toBe(0)
  })
})
