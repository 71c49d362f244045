import { findFreePort } from '@offshoot/kit/free-port'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAgentState, fakeSandbox } from '../../../test/fake-agent-state.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

describe('the records of a host that has joined', () => {
  let harness: Harness
  let first: FakeAgent
  let joined: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let hostId: string

  beforeAll(async () => {
    first = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([first], OPERATOR)
    alice = await harness.tenant(control, 'alice')
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    const { body } = await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })
    await host.join(control, body.token)
    hostId = host.joined?.host_id ?? ''
    const state = new FakeAgentState(hostId)
    joined = await FakeAgent.start({ state, port, tls: host.identity, secret: host.joined?.secret ?? '' })
    await eventually(() => control.control.fleet.byId(hostId)?.isReachable)
  })

  afterAll(async () => {
    await harness.stop()
    await first.kill()
    await joined.kill()
  })

  const look = async (id: string) => (await call(control.url, 'GET', `/v1/sandboxes/${id}`, { token: alice.key })).body
  const eventsOf = async (id: string) => {
    const { rows } = await harness.pool.query('select workspace_id, type from events where object_id = $1', [id])
    return rows.map((row: { workspace_id: string; type: string }) => `${row.workspace_id} ${row.type}`)
  }
  /** A sandbox on that agent, which alone has room. */
  const create = async (agent: FakeAgent) => {
    const other = agent === first ? joined : first
    other.onCreate = async () => ({ status: 507, body: { error: 'insufficient memory' } })
    agent.onCreate = async () => undefined
    const made = await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })
    expect(made.status).toBe(201)
    return made.body.id as string
  }

  it('count for its own sandboxes, and never for those of another host', async () => {
    const [victim, own] = [await create(first), await create(joined)]
    const bob = await harness.tenant(control, 'bob')
    const told = (id: string, workspaceId: string) => {
      // One record: events of one sandbox in the same millisecond would replace one another.
      joined.state.sandboxes.set(id, fakeSandbox(id, workspaceId, 'base', {}))
      return joined.log('sandbox.paused', id).seq
    }
    const forged = told(victim, alice.workspaceId)
    told(own, bob.workspaceId)
    told(own, alice.workspaceId)
    await eventually(async () => (await eventsOf(own)).includes(`${alice.workspaceId} sandbox.paused`))
    expect([(await look(own)).status, (await look(victim)).status]).toEqual(['paused', 'running'])
    expect(await eventsOf(own)).not.toContain(`${bob.workspaceId} sandbox.paused`)
    expect(await eventsOf(victim)).not.toContain(`${alice.workspaceId} sandbox.paused`)
    const { rows } = await harness.pool.query('select cursor from agents where id = $1', [hostId])
    expect(Number(rows[0].cursor)).toBeGreaterThan(forged)
  })
})
