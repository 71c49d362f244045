/** @module-tag long */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { holdStep } from '../../../test/hold-step.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'
import { templateOf } from '../../../test/template-of.ts'

const NO_ROOM = { status: 507, body: { error: 'insufficient host memory for sandbox' } }

describe('a built template on several hosts', () => {
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
    const built = await templateOf(control, alice, agents)
    id = built.id
    home = built.home
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
  const create = async (on = control) => ask('POST', '/v1/sandboxes', { template: 'mine' }, on)
  const hostOf = async (sandbox: string) =>
    (await harness.pool.query('select agent_id from sandboxes where id = $1', [sandbox])).rows[0]?.agent_id as string
  const homeOf = async () =>
    (await harness.pool.query('select agent_id from templates where id = $1', [id])).rows[0]?.agent_id as string
  const copies = async () => (await harness.pool.query('select agent_id, state from artifact_hosts')).rows
  const imports = () => away.requests.filter(({ path }) => path.endsWith('/import')).length
  const reconciled = async (agent: FakeAgent) => {
    const lists = () => agent.requests.filter(({ path, method }) => path === '/v1/templates' && method === 'GET').length
    const before = lists()
    control.control.fleet.reconcileSoon(agent.state.agentId)
    await eventually(() => lists() > before)
  }
  const isOn = ({ state }: FakeAgent) => state.builds.templates.has(id)

  it('is brought to another host once, however many creates and processes need it there', async () => {
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
    await reconciled(away)
    expect(isOn(away)).toBe(true)
    home.onCreate = async () => undefined
    await operate('POST', `${away.state.agentId}/cordon`)
    expect(await hostOf((await create()).body.id)).toBe(home.state.agentId)
    expect(imports()).toBe(1)
  })

  it('stays with hosts that have it while one is free, and is used elsewhere while its home is cordoned', async () => {
    for (let round = 0; round < 3; round++) expect(await hostOf((await create()).body.id)).toBe(home.state.agentId)
    expect(imports()).toBe(0)
    await operate('POST', `${home.state.agentId}/cordon`)
    expect(await hostOf((await create()).body.id)).toBe(away.state.agentId)
    await operate('POST', `${away.state.agentId}/cordon`)
    expect(await create()).toMatchObject({ status: 502, body: { detail: 'the host is cordoned' } })
  })

  it('stays where it is if the other host fails, whatever it has answered', async () => {
    await operate('POST', `${home.state.agentId}/cordon`)
    const answers = [NO_ROOM, { status: 404, body: { error: 'not found' } }]
    const unbakable = { status: 500, body: { error: 'internal', detail: 'the template cannot be baked: booting' } }
    for (const answer of [...answers, unbakable]) {
      away.onMove = async (step) => (step === 'import-template' ? answer : undefined)
      expect(await create()).toMatchObject({ status: answer === NO_ROOM ? 507 : 502 })
    }
    expect(await copies()).toEqual([])
    away.onMove = async () => undefined
    home.onMove = async (step) =>
      step === 'export-template' ? { status: 500, body: { error: 'internal' } } : undefined
    expect((await create()).status).toBe(502)
    home.onMove = async () => undefined
    home.lostAnswers.add('export-template')
    expect((await create()).status).toBe(502)
    expect([await copies(), isOn(away)]).toEqual([[], false])
    away.lostAnswers.add('import-template')
    expect(await create()).toMatchObject({ status: 201 })
    expect([await copies(), isOn(home)]).toEqual([[{ agent_id: away.state.agentId, state: 'ready' }], true])
  })

  it('is of one workspace, on every host', async () => {
    home.onCreate = async () => NO_ROOM
    await create()
    const bob = await harness.tenant(control, 'bob')
    const asked = { token: bob.key, body: { template: 'mine' } }
    expect(await call(control.url, 'POST', '/v1/sandboxes', asked)).toMatchObject({ status: 404 })
    const byId = { token: bob.key, body: { template: id } }
    expect(await call(control.url, 'POST', '/v1/sandboxes', byId)).toMatchObject({ status: 404 })
    expect((await call(control.url, 'DELETE', '/v1/templates/mine', { token: bob.key })).status).toBe(404)
    expect(isOn(away)).toBe(true)
  })

  it('is deleted on every host, also on one that was away', async () => {
    home.onCreate = async () => NO_ROOM
    await create()
    const { port } = away
    await away.kill()
    await eventually(() => control.control.fleet.byId(away.state.agentId)?.isReachable === false)
    expect((await ask('DELETE', '/v1/templates/mine')).status).toBe(204)
    expect([isOn(home), isOn(away)]).toEqual([false, true])
    away = await FakeAgent.start({ state: away.state, port })
    agents = [home, away]
    await eventually(() => !isOn(away))
    expect(await copies()).toEqual([])
  })

  it('is deleted while it is brought to another host', async () => {
    home.onCreate = async () => NO_ROOM
    const held = holdStep([away], 'import-template')
    const creating = create()
    await held.begun
    expect((await ask('DELETE', '/v1/templates/mine')).status).toBe(204)
    held.release()
    expect((await creating).status).toBeGreaterThanOrEqual(400)
    await eventually(() => !isOn(away))
    expect(await copies()).toEqual([])
  })

  it('is replaced on every host', async () => {
    home.onCreate = async () => NO_ROOM
    await create()
    home.onCreate = async () => undefined
    await templateOf(control, alice, agents)
    await reconciled(home)
    await reconciled(away)
    await eventually(() => !isOn(home) && !isOn(away))
    expect([await copies(), (await create()).status]).toEqual([[], 201])
  })

  it('belongs to another host that has it once its own has lost it, and stays the home’s if none has', async () => {
    home.onCreate = async () => NO_ROOM
    await create()
    home.state.builds.templates.delete(id)
    await reconciled(home)
    await eventually(async () => (await homeOf()) === away.state.agentId)
    expect([await copies(), (await create()).status]).toEqual([[], 201])
    away.state.builds.templates.delete(id)
    await reconciled(away)
    await reconciled(away)
    expect(await homeOf()).toBe(away.state.agentId)
  })

  it('is settled by what the host has if the process that brought it has died', async () => {
    const begin = async () =>
      harness.pool.query(
        `insert into artifact_hosts (artifact_id, agent_id, workspace_id, creator)
         select id, $2, workspace_id, 2147483647 from templates where id = $1`,
        [id, away.state.agentId],
      )
    await begin()
    await reconciled(away)
    await eventually(async () => (await copies()).length === 0)
    away.state.builds.templates.set(id, alice.workspaceId)
    await begin()
    await reconciled(away)
    await eventually(async () => (await copies())[0]?.state === 'ready')
    expect(isOn(away)).toBe(true)
  })

  it('can be copied nowhere else once it is deleted', async () => {
    await ask('DELETE', '/v1/templates/mine')
    const inserted = await harness.pool.query(
      `insert into artifact_hosts (artifact_id, agent_id, workspace_id, creator) values ($1, $2, $3, 1)`,
      [id, away.state.agentId, alice.workspaceId],
    )
    expect(inserted.rowCount).toBe(0)
  })

  const drained = async () =>
    eventually(async () => {
      const { body } = await operate('GET', home.state.agentId)
      return body.drain?.ended_at == null ? null : body.drain
    })

  it('is built to its end on a host that is drained, and moves then', async () => {
    const fields = { name: 'second', size_mb: 64, cpu: 1, memory_mb: 512, rootfs: 'AAAA' }
    const { body: build } = await ask('POST', '/v1/templates/build', fields)
    const builder = agents.find(({ state }) => state.builds.builds.has(build.id))
    await operate('POST', `${builder?.state.agentId}/drain`)
    if (builder === home) await eventually(async () => (await homeOf()) === away.state.agentId)
    await delay(1_000)
    const progress = async () => (await operate('GET', `${builder?.state.agentId}`)).body.drain
    expect((await progress()).ended_at).toBeNull()
    builder?.state.builds.finish(build.id)
    await eventually(async () => (await progress()).ended_at !== null)
    expect(await progress()).toMatchObject({ failed: 0, staying: 0 })
    const left = await harness.pool.query('select from templates where agent_id = $1', [builder?.state.agentId])
    expect(left.rowCount).toBe(0)
  })

  it('moves when its host is drained, and is removed there', async () => {
    away.onMove = async (step) => (step === 'import-template' ? NO_ROOM : undefined)
    await operate('POST', `${home.state.agentId}/drain`)
    const reason = 'insufficient host memory for sandbox'
    expect(await drained()).toMatchObject({ failed: 1, stays: [{ kind: 'template', id: 'mine', reason }] })
    expect(await homeOf()).toBe(home.state.agentId)

    away.onMove = async () => undefined
    await operate('POST', `${home.state.agentId}/drain`)
    expect(await drained()).toMatchObject({ moved: 1, failed: 0, left: 0, staying: 0 })
    expect([await homeOf(), await copies()]).toEqual([away.state.agentId, []])
    const { body: log } = await ask('GET', '/v1/audit?action=template.moved')
    const details = { from: home.state.agentId, to: away.state.agentId }
    expect(log).toMatchObject([{ target: 'mine', target_kind: 'template', actor: { type: 'service' }, details }])
    await eventually(() => !isOn(home))
    await reconciled(away)
    expect(isOn(away)).toBe(true)
  })
})
