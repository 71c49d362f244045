import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

describe('hosts', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], OPERATOR)
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const look = async () => (await call(control.url, 'GET', '/v1/admin/hosts', { token: OPERATOR_KEY })).body

  it('are listed with what they can, what they use, and how much runs there', async () => {
    const { agentId } = agent.state
    const { status, body: sandbox } = await call(control.url, 'POST', '/v1/sandboxes', {
      token: alice.key,
      body: { template: 'base' },
    })
    expect(status).toBe(201)
    expect(await look()).toEqual([
      {
        id: agentId,
        state: 'ready',
        url: agent.url,
        version: '0.1.0',
        qemu_version: '7.2.0',
        accelerator: 'tcg',
        accelerator_reason: expect.any(String),
        isolation: expect.any(String),
        cpu_limits: 'cgroup-v2',
        network: { kind: 'tap', reason: null },
        capacity: { cpus: 2, memory_mib: expect.any(Number), disk_bytes: 8 * 1024 ** 4 },
        used: { memory_mib: expect.any(Number), disk_bytes: 7 * 1024 ** 4 },
        disk_state: 'ok',
        sandboxes: 1,
        instances: 0,
        databases: 0,
        cordoned_at: null,
        labels: {},
        zone: null,
        lease: null,
        last_heard_at: expect.any(String),
        created_at: expect.any(String),
      },
    ])
    for (const [managedBy, counts] of [
      ['app', [0, 1, 0]],
      ['database', [0, 0, 1]],
    ] as const) {
      await harness.pool.query('update sandboxes set managed_by = $2 where id = $1', [sandbox.id, managedBy])
      const [host] = await look()
      expect([host.sandboxes, host.instances, host.databases]).toEqual(counts)
    }
    await harness.pool.query('update sandboxes set managed_by = null where id = $1', [sandbox.id])
    await call(control.url, 'DELETE', `/v1/sandboxes/${sandbox.id}`, { token: alice.key })
  })

  it(
    'of another cluster are named as such, and one that only another process reaches is ready',
    { tags: ['faults'] },
    async () => {
      const clusterId = agent.state.clusterId
      agent.state.clusterId = randomUUID()
      await eventually(async () => (await look())[0].state === 'foreign')
      agent.state.clusterId = clusterId
      await eventually(async () => (await look())[0].state === 'ready')
      const again = await harness.control([], OPERATOR)
      const [known] = (await call(again.url, 'GET', '/v1/admin/hosts', { token: OPERATOR_KEY })).body
      expect(known).toMatchObject({ id: agent.state.agentId, state: 'ready', version: '0.1.0', capacity: { cpus: 2 } })
    },
  )

  it('are shown to operators only', async () => {
    for (const token of [alice.key, alice.jwt])
      expect((await call(control.url, 'GET', '/v1/admin/hosts', { token })).status).toBe(401)
    expect((await call(control.url, 'GET', '/v1/admin/hosts?limit=0', { token: OPERATOR_KEY })).status).toBe(400)
  })
})
