import { findFreePort } from '@offshoot/kit/free-port'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { grantAnew, holdEndedLease } from '../../../fleet/lease-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAgentState } from '../../../test/fake-agent-state.ts'
import { call, eventually, Harness, type RunningControl } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const SETTINGS = { ...OPERATOR, lost_after_seconds: 5, database_leases: true }
const SECONDS = 3.75
/** Milliseconds until a lease of a host that is gone has ended. */
const PATIENCE_MS = 60_000

describe('the lease of a host', () => {
  let harness: Harness
  let control: RunningControl
  let first: FakeAgent
  let joined: FakeAgent
  let host: JoiningHost
  let hostId: string

  beforeEach(async () => {
    first = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([first], SETTINGS)
    const port = await findFreePort()
    host = new JoiningHost(`https://127.0.0.1:${port}`)
    const { body } = await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })
    await host.join(control, body.token)
    hostId = host.joined?.host_id ?? ''
  })

  afterEach(async () => {
    await harness.stop()
    await first.kill()
    await joined.kill()
  })

  const start = async (state = new FakeAgentState(hostId)) => {
    const { port } = new URL(host.url)
    joined = await FakeAgent.start({ state, port: Number(port), tls: host.identity, secret: host.joined?.secret ?? '' })
  }
  const lease = () => joined.state.lease
  const row = async () => (await harness.pool.query('select * from host_leases')).rows[0]
  const shown = async (id = hostId) =>
    (await call(control.url, 'GET', `/v1/admin/hosts/${id}`, { token: OPERATOR_KEY })).body.lease
  const held = async () => eventually(async () => lease().isHeld && (await row())?.is_confirmed === true, PATIENCE_MS)
  /** The host has a lease, and is then gone until it has ended. */
  const lose = async () => {
    await start()
    await held()
    await joined.kill()
    await eventually(async () => (await row())?.ended_at !== null, PATIENCE_MS)
  }
  const isEnded = async () => (await transaction(harness.pool, (client) => holdEndedLease(client, hostId))).length > 0
  const metric = async (name: string) => {
    const { body } = await call(control.url, 'GET', '/metrics')
    return new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)`, 'm').exec(body as string)?.[1]
  }

  it('is renewed again and again, for hosts that have joined only', async () => {
    await start()
    await held()
    const { renewals } = lease()
    await eventually(() => lease().renewals > renewals + 2)
    expect(await shown()).toMatchObject({ generation: 1, seconds: SECONDS, ended_at: null })
    expect(await shown(first.state.agentId)).toBeNull()
    expect(first.requests.filter(({ path }) => path === '/v1/agent/lease')).toEqual([])
    expect(await isEnded()).toBe(false)
    expect(await metric('offshoot_host_leases{state="held"}')).toBe('1')
  })

  it('has ended for control only after it has ended on the host', { tags: ['faults'] }, async () => {
    await lose()
    expect([lease().isHeld, await isEnded()]).toEqual([false, true])
    expect(await shown()).toMatchObject({ generation: 1, ended_at: expect.any(String) })
    expect(await metric('offshoot_host_leases{state="ended"}')).toBe('1')
    // Nobody knows what came after the backup.
    await harness.pool.query(`update host_leases set ended_in = 'of the backup'`)
    expect([await isEnded(), (await shown()).ended_at]).toEqual([false, null])
    await eventually(isEnded, PATIENCE_MS)
  })

  it('is granted anew when the host has nothing that another one has taken over', { tags: ['faults'] }, async () => {
    await lose()
    await harness.pool.query(
      `insert into sandbox_moves (sandbox_id, workspace_id, from_agent, to_agent, state, reason, finished_at, left_behind)
       values (gen_random_uuid(), gen_random_uuid(), $1, $2, 'failed', 'a test', now(), $1)`,
      [hostId, first.state.agentId],
    )
    await start(joined.state)
    joined.onMove = async () => ({ status: 500, body: { error: 'not now' } })
    await eventually(() => joined.requests.some(({ path }) => path === '/v1/agent/lease'))
    expect(await grantAnew(harness.pool, hostId, SECONDS, [])).toBeNull()
    // Nobody has told the host of this one yet.
    const alice = await harness.tenant(control, 'alice')
    const made = await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })
    const { rows } = await harness.pool.query('update sandboxes set agent_id = $1 returning id', [first.state.agentId])
    expect(rows).toEqual([{ id: made.body.id }])
    await harness.pool.query('update sandbox_moves set left_behind = null')
    expect(await grantAnew(harness.pool, hostId, SECONDS, [made.body.id])).toBeNull()
    expect([lease().isHeld, await isEnded()]).toEqual([false, true])
    await eventually(() => lease().generation === 2 && lease().isHeld, PATIENCE_MS)
    expect([await isEnded(), (await shown()).ended_at]).toEqual([false, null])
  })

  it(
    'is not granted anew before whoever brings up something of the host has written it',
    { tags: ['long'] },
    async () => {
      await lose()
      let granted = false
      await transaction(harness.pool, async (client) => {
        await holdEndedLease(client, hostId)
        await start(joined.state)
        await eventually(async () => {
          const { rows } = await harness.pool.query(
            `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%host_leases%'`,
          )
          return rows[0].count > 0
        }, PATIENCE_MS)
        granted = lease().isHeld
      })
      expect(granted).toBe(false)
      await eventually(() => lease().isHeld, PATIENCE_MS)
    },
  )

  it.each(['isKnown', 'canStop'] as const)(
    'is none for an agent without %s, so that it never ends',
    { tags: ['long'] },
    async (what) => {
      const state = new FakeAgentState(hostId)
      await start(state)
      await held()
      state.lease[what] = false
      await eventually(async () => (await row()) === undefined, PATIENCE_MS)
      expect(await shown()).toBeNull()
    },
  )

  it('is given up without the setting, before the agent is told', { tags: ['long'] }, async () => {
    await start()
    await held()
    await control.stop()
    control = await harness.control([first], { ...SETTINGS, database_leases: false })
    await eventually(() => lease().generation === null, PATIENCE_MS)
    expect(await row()).toBeUndefined()
  })
})
