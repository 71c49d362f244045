import type { WorkspaceId } from '@offshoot/contract/ids'
import { type PlanName, PLANS } from '@offshoot/contract/plan'
import type { SandboxLimits } from '@offshoot/contract/sandbox-limits'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { setPlan } from './set-plan.ts'

describe('limits of a sandbox', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  /** The requests that the agent received, in order. */
  let received: { readonly what: string; readonly limits: SandboxLimits | undefined }[]

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], { limits: { default_plan: 'free' } })
    tenant = await harness.tenant(control, 'limits')
    listen()
  })

  afterEach(() => listen())

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  function listen(): void {
    received = []
    agent.onCreate = async (_id, { limits }) => void received.push({ what: 'create', limits })
    agent.onAction = async (what, _id, body) =>
      void received.push({ what, limits: (body as { limits?: SandboxLimits } | undefined)?.limits })
  }

  const create = async (): Promise<string> =>
    (await call(control.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base' } })).body.id
  const act = async (id: string, what: string) =>
    (await call(control.url, 'POST', `/v1/sandboxes/${id}/${what}`, { token: tenant.key, body: {} })).status
  const onPlan = (plan: PlanName) => setPlan(harness.pool, tenant.workspaceId as WorkspaceId, plan)

  it('are those of its plan, which the agent hears with create, fork and wake', async () => {
    const id = await create()
    expect(await act(id, 'fork')).toBe(201)
    expect(await act(id, 'hibernate')).toBe(200)
    expect(await act(id, 'wake')).toBe(200)
    expect(received).toEqual([
      { what: 'create', limits: PLANS.free.sandboxLimits },
      { what: 'fork', limits: PLANS.free.sandboxLimits },
      { what: 'hibernate', limits: undefined },
      { what: 'wake', limits: PLANS.free.sandboxLimits },
    ])
  })

  it('follow the plan: the agent gets the limits of every sandbox again', async () => {
    const id = await create()
    await onPlan('free')
    expect(await unsettled()).toEqual([])
    await onPlan('team')
    expect(await unsettled()).toContain(id)
    // Pretends that the longest time that a change may take has passed.
    await harness.pool.query(`update sandboxes set lifecycle_unsettled_at = now() - interval '1 hour' where id = $1`, [
      id,
    ])
    agent.cutStreams()
    await eventually(async () => !(await unsettled()).includes(id))
    expect(agent.state.lifecycles.get(id)).toMatchObject({ limits: PLANS.team.sandboxLimits })
    await create()
    expect(received.at(-1)).toEqual({ what: 'create', limits: PLANS.team.sandboxLimits })
  })

  async function unsettled(): Promise<string[]> {
    const { rows } = await harness.pool.query<{ id: string }>(
      'select id from sandboxes where workspace_id = $1 and lifecycle_unsettled_at is not null',
      [tenant.workspaceId],
    )
    return rows.map((row) => row.id)
  }
})
