import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { holdStep } from '../../../test/hold-step.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const BUSY = { status: 503, body: { error: 'agent not reachable' } }
const NO_ROOM = { status: 507, body: { error: 'insufficient host memory for sandbox' } }

describe('a snapshot on several hosts', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let home: FakeAgent
  let away: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let id: string

  beforeEach(async () => {
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, OPERATOR)
    alice = await harness.tenant(control, 'alice')
    const { body: sandbox } = await ask('POST', '/v1/sandboxes', { template: 'base' })
    const { body: snapshot } = await ask('POST', `/v1/sandboxes/${sandbox.id}/snapshots`, {})
    id = snapshot.id
    home = agents.find(({ state }) => state.snapshots.has(id)) as FakeAgent
    away = agents.find((agent) => agent !== home) as FakeAgent
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
  })

  const ask = async (method: string, path: string, body?: unknown, on = control) =>
    call(on.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const operate = async (method: string, path: string) =>
    call(control.url, method, `/v1/admin/hosts/${path}`, { token: OPERATOR_KEY })
  const create = async (on = control) => ask('POST', '/v1/sandboxes', { from_snapshot: id }, on)
  const hostOf = async (sandbox: string) =>
    (await harness.pool.query('select agent_id from sandboxes where id = $1', [sandbox])).rows[0]?.agent_id as string
  const homeOf = async () =>
    (await harness.pool.query('select agent_id from snapshots where id = $1', [id])).rows[0]?.agent_id as string
  const copies = async () => (await harness.pool.query('select agent_id, state from artifact_hosts')).rows
  const imports = () => away.requests.filter(({ path }) => path.endsWith('/import')).length
  const reconciled = async (agent: FakeAgent) => {
    const lists = () => agent.requests.filter(({ path, method }) => path === '/v1/snapshots' && method === 'GET').length
    const before = lists()
    control.control.fleet.reconcileSoon(agent.state.agentId)
    await eventually(() => lists() > before)
  }

  it(
    'is brought to another host once, however many creates and processes need it there',
    { tags: ['faults'] },
    async () => {
      const second = await harness.control(agents, OPERATOR)
      home.onCreate = async () => NO_ROOM
      const made = await Promise.all([create(), create(second), create(), create(second)])
      expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201])
      for (const { body } of made) expect(await hostOf(body.id)).toBe(away.state.agentId)
      expect(imports()).toBe(1)
      expect([await homeOf(), await copies()]).toEqual([
        home.state.agentId,
        [{ agent_id: away.state.agentId, state: 'ready' }],
      ])
      home.onCreate = async () => undefined
      await operate('POST', `${away.state.agentId}/cordon`)
      expect(await hostOf((await create()).body.id)).toBe(home.state.agentId)
    },
  )

  it('is used elsewhere while its host is cordoned, and says why it cannot be used at all', async () => {
    await operate('POST', `${home.state.agentId}/cordon`)
    expect(await hostOf((await create()).body.id)).toBe(away.state.agentId)
    await operate('POST', `${away.state.agentId}/cordon`)
    expect(await create()).toMatchObject({ status: 502, body: { detail: 'the host is cordoned' } })
  })

  it('stays where it is if the other host fails, whatever it has answered', { tags: ['faults'] }, async () => {
    await operate('POST', `${home.state.agentId}/cordon`)
    away.onMove = async (step) => (step === 'import-snapshot' ? NO_ROOM : undefined)
    expect(await create()).toMatchObject({ status: 507 })
    away.onMove = async (step) =>
      step === 'import-snapshot' ? { status: 404, body: { error: 'not found' } } : undefined
    expect(await create()).toMatchObject({ status: 502 })
    expect(await copies()).toEqual([])
    away.onMove = async () => undefined
    away.lostAnswers.add('import-snapshot')
    expect(await create()).toMatchObject({ status: 201 })
    expect([await copies(), home.state.snapshots.has(id)]).toEqual([
      [{ agent_id: away.state.agentId, state: 'ready' }],
      true,
    ])
  })

  it('is deleted on every host, also on one that was away', { tags: ['long'] }, async () => {
    home.onCreate = async () => NO_ROOM
    await create()
    const { port } = away
    await away.kill()
    await eventually(() => control.control.fleet.byId(away.state.agentId)?.isReachable === false)
    expect((await ask('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
    expect(home.state.snapshots.has(id)).toBe(false)
    away = await FakeAgent.start({ state: away.state, port })
    agents = [home, away]
    await eventually(() => !away.state.snapshots.has(id))
    expect(await copies()).toEqual([])
  })

  it('is deleted while it is brought to another host', { tags: ['long'] }, async () => {
    home.onCreate = async () => NO_ROOM
    const held = holdStep([away], 'import-snapshot')
    const creating = create()
    await held.begun
    expect((await ask('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
    held.release()
    expect((await creating).status).toBeGreaterThanOrEqual(400)
    await eventually(() => !away.state.snapshots.has(id))
    expect(await copies()).toEqual([])
  })

  it('belongs to another host that has it once its own has lost it', { tags: ['faults'] }, async () => {
    home.onCreate = async () => NO_ROOM
    await create()
    home.state.snapshots.delete(id)
    await reconciled(home)
    await eventually(async () => (await homeOf()) === away.state.agentId)
    expect(await copies()).toEqual([])
    expect((await create()).status).toBe(201)
  })

  it('is settled by what the host has if the process that brought it has died', { tags: ['long'] }, async () => {
    const begin = async () =>
      harness.pool.query(
        `insert into artifact_hosts (artifact_id, agent_id, workspace_id, creator)
         select id, $2, workspace_id, 2147483647 from snapshots where id = $1`,
        [id, away.state.agentId],
      )
    await begin()
    await reconciled(away)
    await eventually(async () => (await copies()).length === 0)
    away.state.snapshots.set(id, home.state.snapshots.get(id) as never)
    await begin()
    await reconciled(away)
    await eventually(async () => (await copies())[0]?.state === 'ready')
    expect(away.state.snapshots.has(id)).toBe(true)
  })

  it('is settled once its host answers again if that could not remove it after a failure', async () => {
    await operate('POST', `${home.state.agentId}/cordon`)
    away.onMove = async (step) => (step === 'import-snapshot' ? NO_ROOM : undefined)
    away.onAction = async (action) => (action === 'delete-snapshot' ? BUSY : undefined)
    expect(await create()).toMatchObject({ status: 507 })
    expect(await copies()).toMatchObject([{ state: 'copying' }])
    away.onMove = away.onAction = async () => undefined
    await reconciled(away)
    await eventually(async () => (await copies()).length === 0)
    expect(await create()).toMatchObject({ status: 201 })
  })

  const drained = async () =>
    eventually(async () => {
      const { body } = await operate('GET', home.state.agentId)
      return body.drain?.ended_at == null ? null : body.drain
    })

  it('moves when its host is drained, and is removed there', { tags: ['faults'] }, async () => {
    away.onMove = async (step) => (step === 'import-snapshot' ? NO_ROOM : undefined)
    await operate('POST', `${home.state.agentId}/drain`)
    const reason = 'insufficient host memory for sandbox'
    expect(await drained()).toMatchObject({ failed: 1, stays: [{ kind: 'snapshot', id, reason }] })
    expect(await homeOf()).toBe(home.state.agentId)

    away.onMove = async () => undefined
    await harness.pool.query(`update snapshots set origin = 'backup' where id = $1`, [id])
    await operate('POST', `${home.state.agentId}/drain`)
    expect(await drained()).toMatchObject({ moved: 1, failed: 0, left: 0, staying: 0 })
    expect([await homeOf(), await copies()]).toEqual([away.state.agentId, []])
    const { rows } = await harness.pool.query('select action, workspace_id, details from audit_log where target = $1', [
      id,
    ])
    const details = { from: home.state.agentId, to: away.state.agentId }
    expect(rows).toContainEqual({ action: 'snapshot.moved', workspace_id: alice.workspaceId, details })
    await eventually(() => !home.state.snapshots.has(id))
    // A backup is restored from its disk.
    expect(away.state.withoutMemory.has(id)).toBe(true)
    await reconciled(away)
    expect(away.state.snapshots.has(id)).toBe(true)
  })
})
