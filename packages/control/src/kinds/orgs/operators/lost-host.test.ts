/** @module-tag faults */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const SETTINGS = {
  ...OPERATOR,
  lost_after_seconds: 5,
}
/** Milliseconds until a host that is gone is lost. */
const PATIENCE_MS = 30_000

describe('a host that no control process hears', () => {
  let harness: Harness
  let control: RunningControl
  let agent: FakeAgent
  let other: FakeAgent
  let alice: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    other = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent, other], SETTINGS)
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await Promise.all([agent.kill(), other.kill()])
  })

  const hostOf = async (id: string, on = control) =>
    (await call(on.url, 'GET', `/v1/admin/hosts/${id}`, { token: OPERATOR_KEY })).body
  const ask = async (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const lostRows = async () => {
    const { rows } = await harness.pool.query<{ count: number }>(
      'select count(*)::int as count from agents where lost_at is not null',
    )
    return rows[0]?.count
  }

  it('is lost after the time of the settings, gets nothing new, and is ready when it is heard again', async () => {
    const id = agent.state.agentId
    let sandbox = ''
    await eventually(async () => {
      const { body } = await ask('POST', '/v1/sandboxes', { template: 'base' })
      const { rows } = await harness.pool.query('select agent_id from sandboxes where id = $1', [body.id])
      if (rows[0]?.agent_id === id) sandbox = body.id
      return sandbox !== ''
    })
    const { port, state } = agent
    await agent.kill()
    await eventually(async () => (await hostOf(id)).state === 'lost', PATIENCE_MS)
    const { last_heard_at: heardAt } = await hostOf(id)
    expect(Date.parse(heardAt)).toBeLessThan(Date.now())
    expect(control.control.fleet.agents.filter(({ isLost }) => isLost)).toHaveLength(1)
    expect((await control.control.metrics.registry.metrics()).match(/^offshoot_agents_lost (\d)/m)?.[1]).toBe('1')
    // Its sandboxes are not failed, and nothing of them starts elsewhere.
    const { body: shown } = await ask('GET', `/v1/sandboxes/${sandbox}`)
    expect(shown.status).toBe('running')
    expect(await ask('POST', `/v1/sandboxes/${sandbox}/exec`, { cmd: 'true' })).toMatchObject({
      status: 502,
      body: { error: 'agent unreachable' },
    })
    for (let n = 0; n < 4; n += 1) {
      const made = await ask('POST', '/v1/sandboxes', { template: 'base' })
      const { rows } = await harness.pool.query('select agent_id from sandboxes where id = $1', [made.body.id])
      expect([made.status, rows[0]?.agent_id]).toEqual([201, other.state.agentId])
    }
    const second = await harness.control([other], SETTINGS)
    expect((await hostOf(id, second)).state).toBe('lost')
    await second.stop()
    agent = await FakeAgent.start({ port, state })
    await eventually(async () => (await hostOf(id)).state === 'ready', PATIENCE_MS)
    await eventually(async () => (await lostRows()) === 0, PATIENCE_MS)
    expect(Date.parse((await hostOf(id)).last_heard_at)).toBeGreaterThan(Date.parse(heardAt))
  })
})
