/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { setPlan } from './limits/set-plan.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { grantCredit } from './grant-credit.ts'

const LIMITS = { default_plan: 'free', rate_burst: 1_000_000, rate_per_second: 1_000_000 } as const

describe('free credit', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], { limits: LIMITS })
  })

  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `payer-${tenants}`)
  })

  afterEach(() => {
    agent.onCreate = async () => undefined
    agent.onAction = async () => undefined
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const post = (path: string, body?: unknown) => call(control.url, 'POST', path, { token: tenant.key, body })
  const create = () => post('/v1/sandboxes', { template: 'base' })
  const statusOf = async (id: string) =>
    (await call(control.url, 'GET', `/v1/sandboxes/${id}`, { token: tenant.key })).body.status as string
  /** Pretends that the workspace has used this much since the start of the month. */
  const use = (microUsd: number, { workspaceId } = tenant) =>
    harness.pool.query(
      `insert into usage_months as u (workspace_id, month, micro_usd, cpu_seconds)
       values ($1, date_trunc('month', now() at time zone 'UTC')::date, $2, 0)
       on conflict (workspace_id, month) do update set micro_usd = u.micro_usd + excluded.micro_usd`,
      [workspaceId, microUsd],
    )
  const mails = async (): Promise<string[]> => {
    const folder = join(harness.dataDir, 'mail')
    const names = await readdir(folder).catch(() => [])
    const whole = names.filter((name) => name.endsWith('.eml'))
    const texts = await Promise.all(whole.map((name) => readFile(join(folder, name), 'utf8')))
    return texts.filter((text) => text.includes(`payer-${tenants}@example.com`))
  }
  const agentKnows = () => agent.state.spentCredit.workspaces.find((each) => each.workspace_id === tenant.workspaceId)

  it('warns owners at 80 percent by mail, once', async () => {
    await use(4_320_000)
    expect((await create()).status).toBe(201)
    await eventually(async () => (await mails()).length === 1)
    const [mail = ''] = await mails()
    expect(mail).toMatch(/^Subject: 80 percent of the free credit/m)
    expect(mail).toContain('5.40 USD')
    const again = await harness.control([agent], { limits: LIMITS })
    await use(1)
    // Once the second process has reached its agent and sent it the list, it has also checked the credit.
    await eventually(() => again.control.fleet.agents.every(({ isReachable }) => isReachable))
    await again.stop()
    expect(await mails()).toHaveLength(1)
    expect(agentKnows()).toBeUndefined()
  })

  it('pauses what runs and refuses creates before any node is asked; an upgrade lifts it; nothing is deleted', async () => {
    const { body: running } = await create()
    const { body: hibernated } = await create()
    await post(`/v1/sandboxes/${hibernated.id}/hibernate`)
    const { rows: before } = await harness.pool.query('select expires_at from sandboxes where id = $1', [running.id])
    await use(5_400_000)
    const asked = agent.requests.length
    const refused = await create()
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 402,
      body: { error: 'free quota exceeded', detail: expect.stringContaining('nothing is deleted') },
    })
    expect(
      agent.requests.slice(asked).filter(({ method, path }) => method === 'POST' && path === '/v1/sandboxes'),
    ).toEqual([])
    await eventually(async () => (await statusOf(running.id)) === 'paused')
    expect(await statusOf(hibernated.id)).toBe('hibernated')
    const told = await eventually(agentKnows)
    expect(told).toMatchObject({ credit_usd: 5.4, until: expect.stringMatching(/-01T00:00:00\.000Z$/) })
    expect(told.cost_usd_used).toBeGreaterThanOrEqual(5.4)
    await eventually(async () => (await mails()).some((text) => text.includes('Subject: 100 percent')))
    // The sandbox's time to live has passed while it was paused. That must not end it.
    await harness.pool.query(`update sandboxes set expires_at = now() - interval '1 s' where id = $1`, [running.id])
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'pro')
    await eventually(async () => (await statusOf(running.id)) === 'running')
    await eventually(() => agentKnows() === undefined)
    expect((await create()).status).toBe(201)
    expect(before).toHaveLength(1)
  })

  it('is lifted by a grant', { tags: ['long'] }, async () => {
    const { body: sandbox } = await create()
    await use(5_400_000)
    await eventually(async () => (await statusOf(sandbox.id)) === 'paused')
    await grantCredit(harness.pool, tenant.workspaceId as WorkspaceId, 10_000_000, 'because')
    await eventually(async () => (await statusOf(sandbox.id)) === 'running')
    expect((await create()).status).toBe(201)
  })

  it('is lifted by the turn of the month', { tags: ['long'] }, async () => {
    const { body: sandbox } = await create()
    await use(5_400_000)
    await eventually(async () => (await statusOf(sandbox.id)) === 'paused')
    await harness.pool.query(`update usage_months set month = month - interval '1 month' where workspace_id = $1`, [
      tenant.workspaceId,
    ])
    await harness.pool.query('update workspace_accounts set exhausted_until = now() where workspace_id = $1', [
      tenant.workspaceId,
    ])
    await eventually(async () => (await statusOf(sandbox.id)) === 'running')
    expect((await create()).status).toBe(201)
  })

  it('leaves alone what its owner has paused', { tags: ['long'] }, async () => {
    const { body: sandbox } = await create()
    await post(`/v1/sandboxes/${sandbox.id}/pause`)
    const { body: running } = await create()
    await use(5_400_000)
    await eventually(async () => (await statusOf(running.id)) === 'paused')
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'pro')
    await eventually(async () => (await statusOf(running.id)) === 'running')
    expect(await statusOf(sandbox.id)).toBe('paused')
  })

  it(
    'tries again when the agent could not pause, and does not forget what a process that died had begun',
    { tags: ['long'] },
    async () => {
      const { body: sandbox } = await create()
      let failures = 0
      agent.onAction = async (action, id) => {
        if (action !== 'pause' || id !== sandbox.id || failures > 0) return undefined
        failures += 1
        return { status: 500, body: { error: 'sandbox could not be paused' } }
      }
      await use(5_400_000)
      await eventually(async () => (await statusOf(sandbox.id)) === 'paused')
      expect(failures).toBe(1)
      // The state after a process died between mark and pause: marked, leased, running.
      await harness.pool.query(`update sandboxes set credit_due_at = now() - interval '1 s' where id = $1`, [
        sandbox.id,
      ])
      await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'team')
      await eventually(async () => (await statusOf(sandbox.id)) === 'running')
      await eventually(async () => {
        const { rows } = await harness.pool.query(
          'select credit_paused_at, credit_due_at from sandboxes where id = $1',
          [sandbox.id],
        )
        return rows[0].credit_paused_at === null && rows[0].credit_due_at === null
      })
    },
  )

  it('passes on what an agent refuses by itself', async () => {
    const spent = { error: 'monthly free credit exhausted', credit_usd: 5.4, cost_usd_used: 5.41 }
    const { body: sandbox } = await create()
    agent.onCreate = async () => ({ status: 402, body: spent })
    agent.onAction = async () => ({ status: 402, body: spent })
    agent.onExec = async () => ({ status: 402, body: spent })
    const answers = [
      await create(),
      await post(`/v1/sandboxes/${sandbox.id}/fork`),
      await post(`/v1/sandboxes/${sandbox.id}/wake`),
      await post(`/v1/sandboxes/${sandbox.id}/exec`, { cmd: 'true' }),
    ]
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 402, body: spent })
  })

  it('refuses what a month may not go beyond on plans that are billed', async () => {
    await create()
    await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'pro')
    const month = (column: string, value: number) =>
      harness.pool.query(
        `insert into usage_months as u (workspace_id, month, micro_usd, cpu_seconds)
         values ($1, date_trunc('month', now() at time zone 'UTC')::date, 0, 0)
         on conflict (workspace_id, month) do update set ${column} = ${value}`,
        [tenant.workspaceId],
      )
    await month('cpu_seconds', 20_000_000)
    await month('cpu_seconds', 20_000_000)
    expect(await create()).toMatchObject({ status: 429, body: { error: 'monthly cpu-seconds quota exceeded' } })
    await month('cpu_seconds', 0)
    await month('micro_usd', 1_000_000_000)
    expect(await create()).toMatchObject({ status: 429, body: { error: 'monthly budget exceeded' } })
  })

  it('grants nothing to a workspace that is not there', async () => {
    await expect(grantCredit(harness.pool, randomUUID() as WorkspaceId, 1, 'x')).rejects.toMatchObject({ status: 404 })
  })
})
