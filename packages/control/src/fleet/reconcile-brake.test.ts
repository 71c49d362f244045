import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { agentHooks } from '../control.ts'
import { FakeAgent } from '../test/fake-agent.ts'
import { addSnapshot } from '../test/fake-checkpoints.ts'
import { addVolume } from '../test/fake-volumes.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../test/harness.ts'
import { reconcile } from './reconcile.ts'
import { OPERATOR, OPERATOR_KEY } from '../test/operator.ts'

describe('reconciliation without a recorded reason', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    harness = await Harness.start()
  })

  afterAll(() => harness.stop())

  beforeEach(async () => {
    agent = await FakeAgent.start()
    control = await harness.control([agent], OPERATOR)
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    return async () => {
      await control.stop()
      await agent.kill()
    }
  })

  const create = async (on = control, token = tenant.key): Promise<string> =>
    (await call(on.url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })).body.id
  const host = (on = control) => `/v1/admin/hosts/${on.control.fleet.agents[0]?.info?.agent_id}/reconcile`
  const look = (on = control) => call(on.url, 'GET', host(on), { token: OPERATOR_KEY })
  const confirm = (body: object, on = control) => call(on.url, 'POST', host(on), { token: OPERATOR_KEY, body })
  const sandboxes = () => [...agent.state.sandboxes.keys()]

  /** One complete round; later rounds find what this one left. */
  async function round({ control: services } = control) {
    const { database, fleet, log } = services
    const [{ client, info } = never()] = fleet.agents
    const { clusterId } = fleet.directory
    const signal = new AbortController().signal
    const agentId = info?.agent_id ?? ''
    return reconcile({ pool: database.pool, client, agentId, clusterId, log, signal }, agentHooks(services))
  }

  /** In one statement: control's own reconciliation must not see a part of them, which may be few enough to remove. */
  const insertVolumes = (count: number) =>
    harness.pool.query(
      `insert into volumes (id, workspace_id, agent_id, creator, kind, name, size_mb, status)
       select gen_random_uuid(), $1, $2, 0, 'volume', 'volume-' || n, 64, 'ready' from generate_series(1, $3::int) n`,
      [tenant.workspaceId, agent.state.agentId, count],
    )
  const volumesLeft = async () =>
    (await harness.pool.query('select id from volumes where workspace_id = $1', [tenant.workspaceId])).rows.length

  /**
   * Restores a backup from before these objects existed: it has neither their rows nor a record that they were removed.
   */
  async function restoreFromBefore(table: 'sandboxes' | 'snapshots' | 'volumes', ids: readonly string[]) {
    const client = await harness.pool.connect()
    try {
      await client.query('begin')
      await client.query('set local session_replication_role = replica')
      await client.query(`delete from ${table} where id = any($1)`, [ids])
      await client.query('commit')
    } finally {
      client.release()
    }
  }

  it('deletes nothing that a database restored from an older backup does not know, until an operator confirms it', async () => {
    const known = await create()
    const [first, second] = [await create(), await create()]
    const { body: snapshot } = await call(control.url, 'POST', `/v1/sandboxes/${first}/snapshots`, {
      token: tenant.key,
    })
    await restoreFromBefore('snapshots', [snapshot.id])
    await restoreFromBefore('sandboxes', [first, second])
    const volume = randomUUID()
    addVolume(agent.state, { id: volume, name: 'v', size_mb: 64 }, tenant.workspaceId)
    await round()
    expect(sandboxes()).toEqual([known, first, second])
    expect(agent.state.snapshots.has(snapshot.id)).toBe(true)
    expect(agent.state.volumes.has(volume)).toBe(true)
    const shown = await look()
    expect(shown).toMatchObject({ status: 200, body: { agent_id: agent.state.agentId, cluster: 'own', count: 4 } })
    const waiting: { id: string }[] = shown.body.waiting
    expect(new Set(waiting.map(({ id }) => id))).toEqual(new Set([first, second, snapshot.id, volume]))
    expect((await call(control.url, 'GET', '/metrics')).body).toContain('offshoot_reconcile_waiting 4')
    expect(await confirm({ count: 3 })).toMatchObject({ status: 409, body: { detail: '4 objects wait by now' } })
    await round()
    expect(sandboxes()).toEqual([known, first, second])
    expect((await confirm({ count: 4 })).status).toBe(200)
    await eventually(() => sandboxes().length === 1 && agent.state.snapshots.size + agent.state.volumes.size === 0)
    expect(sandboxes()).toEqual([known])
    await round()
    expect((await look()).body).toMatchObject({ count: 0, waiting: [] })
    const { rows } = await harness.pool.query(
      `select actor_type, target, details from audit_log where action = 'host.reconciled' and target = $1`,
      [agent.state.agentId],
    )
    expect(rows).toEqual([
      { actor_type: 'operator', target: agent.state.agentId, details: { count: 4, take_over: false } },
    ])
  })

  it('deletes at once what the database has removed, even when it knows nothing else', async () => {
    const given = randomUUID()
    await harness.recordRemoval(agent, given)
    agent.addSandbox(given, tenant.workspaceId)
    agent.addSandbox(randomUUID(), tenant.workspaceId)
    await round()
    expect(sandboxes()).not.toContain(given)
    expect(sandboxes()).toHaveLength(1)
  })

  it('goes on after one that the host refuses to delete', async () => {
    const ids = [randomUUID(), randomUUID(), randomUUID()]
    for (const id of ids) {
      await harness.recordRemoval(agent, id)
      agent.addSandbox(id, tenant.workspaceId)
    }
    agent.onDelete = async (id) => (id === ids[0] ? { status: 500, body: { error: 'stuck' } } : undefined)
    await round()
    expect(sandboxes()).toEqual([ids[0]])
  })

  it('deletes no more than a part at once', { tags: ['faults'] }, async () => {
    const ids = Array.from({ length: 70 }, () => randomUUID())
    for (const id of ids) {
      await harness.recordRemoval(agent, id)
    }
    await control.stop()
    for (const id of ids) agent.addSandbox(id, tenant.workspaceId)
    control = await harness.control([agent], OPERATOR)
    const deletions = () => agent.requests.flatMap(({ method }, at) => (method === 'DELETE' ? [at] : []))
    await eventually(() => sandboxes().length === 0)
    // The host's list must be read again before the deletions of the second round.
    const lists = agent.requests.flatMap(({ path }, at) => (path === '/v1/sandboxes' ? [at] : []))
    const [begun = 0] = deletions()
    const next = lists.find((at) => at > begun) ?? Infinity
    expect(deletions().filter((at) => at < next)).toHaveLength(64)
  })

  it(
    'removes the rows of many lost objects only when it is confirmed, and those of a few at once',
    { tags: ['faults'] },
    async () => {
      await insertVolumes(1)
      await round()
      expect(await volumesLeft()).toBe(0)
      await insertVolumes(9)
      await round()
      expect(await volumesLeft()).toBe(9)
      expect((await look()).body).toMatchObject({ count: 9 })
      expect((await confirm({ count: 9 })).status).toBe(200)
      await eventually(async () => (await volumesLeft()) === 0)
    },
  )

  it('deletes nothing for an empty database, which may take the host over', { tags: ['faults'] }, async () => {
    const running = await create()
    const own = agent.state.clusterId
    await control.stop()
    const emptied = await Harness.start()
    const other = await emptied.control([agent], OPERATOR)
    try {
      const bob = await emptied.tenant(other, 'bob')
      await emptied.recordRemoval(agent, running)
      await round(other)
      expect(sandboxes()).toEqual([running])
      expect(agent.state.clusterId).toBe(own)
      expect((await look(other)).body).toMatchObject({ cluster: 'other', count: 1 })
      // A host of another cluster gets no new sandbox either.
      const body = { template: 'base' }
      expect((await call(other.url, 'POST', '/v1/sandboxes', { token: bob.key, body })).status).toBe(502)
      expect((await call(other.url, 'GET', '/metrics')).body).toContain('offshoot_agents_foreign 1')
      expect(await confirm({ count: 1 }, other)).toMatchObject({
        status: 409,
        body: { error: 'host belongs to another cluster' },
      })
      expect(await confirm({ count: 1, take_over: true }, other)).toMatchObject({
        status: 200,
        body: { cluster: 'own' },
      })
      await eventually(() => sandboxes().length === 0)
      await eventually(
        async () => (await call(other.url, 'POST', '/v1/sandboxes', { token: bob.key, body })).status === 201,
      )
    } finally {
      await emptied.stop()
    }
    control = await harness.control([agent], OPERATOR)
  })

  it(
    'two databases share a host: the second one’s control deletes nothing of the first',
    { tags: ['faults'] },
    async () => {
      const running = await create()
      addSnapshot(agent, { id: running, workspace_id: tenant.workspaceId, template: 'base' }, randomUUID(), 'user')
      const elsewhere = await Harness.start()
      const other = await elsewhere.control([agent], OPERATOR)
      try {
        await round(other)
        await round()
        expect(sandboxes()).toEqual([running])
        expect(agent.state.snapshots.size).toBe(1)
        const [{ client } = never()] = other.control.fleet.agents
        await expect(client.remove(running, tenant.workspaceId, randomUUID())).rejects.toThrow('another cluster')
      } finally {
        await elsewhere.stop()
      }
    },
  )

  it('is confirmed by operators alone', async () => {
    for (const token of [tenant.key, tenant.jwt]) {
      expect((await call(control.url, 'GET', host(), { token })).status).toBe(401)
      expect((await call(control.url, 'POST', host(), { token, body: { count: 0 } })).status).toBe(401)
    }
    const unknown = `/v1/admin/hosts/${randomUUID()}/reconcile`
    expect((await call(control.url, 'POST', unknown, { token: OPERATOR_KEY, body: { count: 0 } })).status).toBe(404)
    expect(await confirm({})).toMatchObject({ status: 400, body: { error: 'count required' } })
    expect(await confirm({ count: -1 })).toMatchObject({ status: 400, body: { error: 'count must be >= 0' } })
  })
})

function never(): never {
  throw new Error('no agent')
}
