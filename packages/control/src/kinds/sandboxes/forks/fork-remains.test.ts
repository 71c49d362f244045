// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import type { ForkOnAgentBody } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { addSnapshot } from '../../../test/fake-checkpoints.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('what a fork leaves behind', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0
  let parent: string

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })

  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    agent.onAction = async () => undefined
    parent = (await create({ metadata: { team: 'red' } })).id
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })
  const create = async (body: object = {}) =>
    (await ask('POST', '/v1/sandboxes', { template: 'base', ...body })).body as { id: string }
  const get = (id: string) => ask('GET', `/v1/sandboxes/${id}`)
  const fork = (body?: unknown, of = parent) => ask('POST', `/v1/sandboxes/${of}/fork`, body)
  const forkTree = (body?: unknown, of = parent) => ask('POST', `/v1/sandboxes/${of}/fork-tree`, body)
  const rowsLeft = async () => {
    const { rows } = await harness.pool.query(
      `select id::text from sandboxes where workspace_id = $1 union select id::text from snapshots where workspace_id = $1`,
      [tenant.workspaceId],
    )
    return rows.map(({ id }) => id as string)
  }
  it('what came of a fork whose answer was lost is deleted', { tags: ['faults'] }, async () => {
    const lost = await FakeAgent.start()
    const { port, state } = lost
    const alone = await harness.control([lost])
    const options = { token: tenant.key }
    const created = await call(alone.url, 'POST', '/v1/sandboxes', { ...options, body: { template: 'base' } })
    lost.onAction = async (_action, id, body) => {
      const { snapshot_id: snapshotId, children } = body as ForkOnAgentBody
      addSnapshot(lost, { id, workspace_id: tenant.workspaceId, template: 'base' }, snapshotId, 'fork')
      for (const child of children) lost.addSandbox(child.id, tenant.workspaceId)
      await lost.kill()
      return undefined
    }
    const answer = await call(alone.url, 'POST', `/v1/sandboxes/${created.body.id}/fork-tree`, options)
    expect(answer).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    expect(await rowsLeft()).toHaveLength(2)
    expect(state.sandboxes.size).toBe(3)
    const back = await FakeAgent.start({ port, state })
    await eventually(() => state.sandboxes.size === 1 && state.snapshots.size === 0)
    await alone.stop()
    await back.kill()
  })

  it('a control that dies in a fork leaves rows that the log and reconciliation finish', async () => {
    const staged = { snapshot: randomUUID(), ran: randomUUID(), never: randomUUID() }
    await harness.pool.query(
      `insert into snapshots (id, workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, origin, status)
       values ($1, $2, $3, $4, 0, 'base', 1, 512, 'fork', 'creating')`,
      [staged.snapshot, tenant.workspaceId, agent.state.agentId, parent],
    )
    for (const id of [staged.ran, staged.never]) {
      await harness.pool.query(
        `insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent, ttl_seconds,
           idle_timeout_seconds, from_snapshot, parent_id)
         values ($1, $2, $3, 0, 'base', 'creating', 1, 512, true, 3600, 600, $4, $5)`,
        [id, tenant.workspaceId, agent.state.agentId, staged.snapshot, parent],
      )
    }
    addSnapshot(agent, { id: parent, workspace_id: tenant.workspaceId, template: 'base' }, staged.snapshot, 'fork')
    agent.addSandbox(staged.ran, tenant.workspaceId)
    agent.cutStreams()
    await eventually(async () => (await get(staged.never)).status === 404)
    await eventually(async () => (await get(staged.ran)).body.status === 'running')
    await eventually(async () => (await ask('GET', `/v1/snapshots/${staged.snapshot}`)).status === 200)
  })

  it('the snapshot of a fork is not listed, and goes with the last that was made from it', async () => {
    const { children, snapshot_id: id } = (await forkTree({ count: 3 })).body
    const [promoted, ...rest] = children.map((child: { id: string }) => child.id) as string[]
    expect((await ask('GET', '/v1/snapshots')).body).toEqual([])
    expect((await ask('GET', `/v1/snapshots/${id}`)).body).toMatchObject({ origin: 'fork', sandbox_id: parent })
    const another = await create({ from_snapshot: id })
    await ask('DELETE', `/v1/sandboxes/${parent}`)
    for (const child of rest) await ask('DELETE', `/v1/sandboxes/${child}`)
    const unrelated = (await fork({}, another.id)).body
    await ask('DELETE', `/v1/sandboxes/${unrelated.id}`)
    await eventually(() => !agent.state.snapshots.has(unrelated.snapshot_id))
    expect(agent.state.snapshots.has(id)).toBe(true)
    for (const last of [promoted, another.id]) await ask('DELETE', `/v1/sandboxes/${last}`)
    await eventually(async () => (await rowsLeft()).length === 0)
    expect(agent.state.snapshots.has(id)).toBe(false)
  })
})
