import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const CREATES = 6

const idOf = (agent: FakeAgent | undefined) => agent?.state.agentId ?? ''

describe('a host that an operator cordons', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let control: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, OPERATOR)
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
  })

  const operate = async (method: string, path: string, on = control) =>
    call(on.url, method, `/v1/admin/hosts/${path}`, { token: OPERATOR_KEY })
  const ask = async (method: string, path: string, body?: unknown, on = control) =>
    call(on.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const create = async (body: object = { template: 'base' }, on = control) => ask('POST', '/v1/sandboxes', body, on)
  const hostOf = async (id: string) => {
    const { rows } = await harness.pool.query<{ agent_id: string }>('select agent_id from sandboxes where id = $1', [
      id,
    ])
    return rows[0]?.agent_id
  }
  const entriesOf = async (id: string) => {
    const { rows } = await harness.pool.query<{ action: string }>(
      `select action from audit_log where target = $1 and action like 'host.%cordoned' order by created_at`,
      [id],
    )
    return rows.map(({ action }) => action)
  }

  it('gets nothing new, and keeps what it has', async () => {
    const { body: older } = await create()
    const cordoned = (await hostOf(older.id)) ?? ''
    expect((await operate('POST', `${cordoned}/cordon`)).body).toMatchObject({
      id: cordoned,
      state: 'cordoned',
      cordoned_at: expect.any(String),
    })
    const made = await Promise.all(Array.from({ length: CREATES }, async () => create()))
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
    expect(await Promise.all(made.map(async ({ body }) => hostOf(body.id)))).not.toContain(cordoned)
    expect((await ask('GET', `/v1/sandboxes/${older.id}`)).body.status).toBe('running')
    const { status, body: snapshot } = await ask('POST', `/v1/sandboxes/${older.id}/snapshots`, {})
    expect(status).toBe(201)
    const { status: forked, body: refusal } = await ask('POST', `/v1/sandboxes/${older.id}/fork`, {})
    expect([forked, refusal.error, refusal.detail]).toEqual([502, 'no available compute node', 'the host is cordoned'])
    const { body: elsewhere } = await create({ from_snapshot: snapshot.id })
    expect(await hostOf(elsewhere.id)).not.toBe(cordoned)
    await operate('POST', `${cordoned}/uncordon`)
    expect((await create({ from_snapshot: snapshot.id })).status).toBe(201)
  })

  it('is refused for volumes that are there', async () => {
    const { body: volume } = await ask('POST', '/v1/volumes', { name: 'there' })
    const host = volume.agent_id
    await operate('POST', `${host}/cordon`)
    const body = { template: 'base', volumes: [{ name: 'there', path: '/data' }] }
    const refused = [await create(body), await ask('POST', '/v1/volumes/there/clone', { name: 'copy' })]
    expect(refused.map(({ status, body: { detail } }) => [status, detail])).toEqual(
      refused.map(() => [502, 'the host is cordoned']),
    )
    const { body: other } = await ask('POST', '/v1/volumes', { name: 'elsewhere' })
    expect(other).toMatchObject({ name: 'elsewhere', agent_id: expect.any(String) })
    expect(other.agent_id).not.toBe(host)
    await operate('POST', `${host}/uncordon`)
  })

  it('leaves no host for what is new when it was the last one', async () => {
    for (const agent of agents) await operate('POST', `${idOf(agent)}/cordon`)
    const refused = await create()
    expect([refused.status, refused.body.error]).toEqual([502, 'no available compute node'])
    for (const agent of agents) await operate('POST', `${idOf(agent)}/uncordon`)
    expect((await create()).status).toBe(201)
  })

  it('is known to every control process, also to one that starts later', { tags: ['faults'] }, async () => {
    const [first, ...others] = agents
    const second = await harness.control(agents, OPERATOR)
    for (const agent of others) await operate('POST', `${idOf(agent)}/cordon`)
    await eventually(() => second.control.fleet.agents.filter(({ isCordoned }) => isCordoned).length === others.length)
    expect(await hostOf((await create(undefined, second)).body.id)).toBe(idOf(first))
    const third = await harness.control(agents, OPERATOR)
    expect(await hostOf((await create(undefined, third)).body.id)).toBe(idOf(first))
    for (const agent of others) await operate('POST', `${idOf(agent)}/uncordon`, third)
    await eventually(() => second.control.fleet.agents.every(({ isCordoned }) => !isCordoned))
    await second.stop()
    await third.stop()
  })

  it('can be cordoned while this process does not reach it, and is audited once for each change', async () => {
    const lone = await harness.control([], OPERATOR)
    const id = idOf(agents[1])
    const before = await entriesOf(id)
    await operate('POST', `${id}/cordon`, lone)
    const { status, body } = await operate('POST', `${id}/cordon`, lone)
    expect([status, body.state, body.cordoned_at]).toEqual([200, 'cordoned', expect.any(String)])
    expect((await operate('GET', id)).body).toMatchObject({ id, state: 'cordoned' })
    await operate('POST', `${id}/uncordon`, lone)
    expect((await operate('POST', `${id}/uncordon`, lone)).body.cordoned_at).toBeNull()
    expect((await entriesOf(id)).slice(before.length)).toEqual(['host.cordoned', 'host.uncordoned'])
    await lone.stop()
  })

  it('is shown and changed for operators only, and only if it is known', async () => {
    const id = idOf(agents[0])
    const routes = [
      ['GET', ''],
      ['POST', '/cordon'],
      ['POST', '/uncordon'],
    ] as const
    for (const [method, verb] of routes) {
      for (const token of [alice.key, alice.jwt])
        expect((await call(control.url, method, `/v1/admin/hosts/${id}${verb}`, { token })).status).toBe(401)
      // With several hosts, `self` names none.
      for (const unknown of ['self', 'nothing', '00000000-0000-4000-8000-000000000000'])
        expect((await operate(method, `${unknown}${verb}`)).status).toBe(404)
    }
    expect((await operate('GET', id)).body.state).toBe('ready')
  })
})
