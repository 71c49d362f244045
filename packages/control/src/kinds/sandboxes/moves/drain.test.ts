import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { holdStep } from '../../../test/hold-step.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

describe('a host that an operator drains', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let control: RunningControl
  let alice: Tenant

  beforeEach(async () => {
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, OPERATOR)
    alice = await harness.tenant(control, 'alice')
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
  })

  const operate = async (method: string, path: string) =>
    call(control.url, method, `/v1/admin/hosts/${path}`, { token: OPERATOR_KEY })
  const ask = async (method: string, path: string, body?: unknown, on = control) =>
    call(on.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const create = async (body: object = {}) =>
    (await ask('POST', '/v1/sandboxes', { template: 'base', ...body })).body.id
  const exec = async (id: string, on = control) => ask('POST', `/v1/sandboxes/${id}/exec`, { cmd: 'true' }, on)
  const agentOf = (id: string) => agents.find(({ state }) => state.agentId === id) as FakeAgent
  const holders = (id: string) => agents.filter(({ state }) => state.sandboxes.has(id))
  const hostOf = async (id: string) =>
    (await harness.pool.query('select agent_id from sandboxes where id = $1', [id])).rows[0]?.agent_id as string
  const entriesOf = async (target: string) =>
    (await harness.pool.query('select action, details from audit_log where target = $1 order by created_at', [target]))
      .rows
  const drained = async (id: string) =>
    eventually(async () => {
      const { body } = await operate('GET', id)
      return body.drain?.ended_at == null ? null : body
    })

  it('hands over its sandboxes, those that run and those that do not', { tags: ['faults'] }, async () => {
    const running = await create()
    const host = await hostOf(running)
    const made = await Promise.all(Array.from({ length: 9 }, async () => create()))
    const there: string[] = [running]
    for (const id of made) if ((await hostOf(id)) === host) there.push(id)
    const asleep = there.at(-1) ?? ''
    if (there.length > 1) await ask('POST', `/v1/sandboxes/${asleep}/hibernate`)
    await exec(running)
    const begun = await operate('POST', `${host}/drain`)
    expect(begun).toMatchObject({ status: 200, body: { state: 'draining', cordoned_at: expect.any(String) } })
    const { drain, state } = await drained(host)
    expect(state).toBe('cordoned')
    expect(drain).toMatchObject({ left: 0, moving: 0, moved: there.length, failed: 0, staying: 0, stays: [] })
    for (const id of there) {
      const now = await hostOf(id)
      expect(now).not.toBe(host)
      await eventually(() => holders(id).length === 1)
      expect(agentOf(now).state.sandboxes.get(id)?.move).toBeUndefined()
    }
    expect(agentOf(host).state.sandboxes.size).toBe(0)
    // What ran runs again, and what slept sleeps.
    await eventually(async () => (await ask('GET', `/v1/sandboxes/${running}`)).body.status === 'running')
    if (there.length > 1) expect((await ask('GET', `/v1/sandboxes/${asleep}`)).body.status).toBe('hibernated')
    expect((await exec(running)).status).toBe(200)
    expect(agentOf(await hostOf(running)).requests.filter(({ path }) => path.endsWith('/exec'))).toHaveLength(1)
    expect(await entriesOf(host)).toEqual([
      { action: 'host.drain_begun', details: {} },
      { action: 'host.drained', details: { moved: there.length, staying: 0 } },
    ])
    const entry = { action: 'sandbox.moved', details: { from: host, to: await hostOf(running) } }
    expect(await entriesOf(running)).toContainEqual(entry)
    expect((await operate('DELETE', host)).status).toBe(404)
  })

  it(
    'is followed by the events and the status of what it gave away, in every process',
    { tags: ['faults'] },
    async () => {
      const id = await create()
      const host = await hostOf(id)
      const second = await harness.control(agents, OPERATOR)
      await exec(id, second)
      await operate('POST', `${host}/drain`)
      await drained(host)
      const now = agentOf(await hostOf(id))
      await eventually(async () => (await ask('GET', `/v1/sandboxes/${id}`)).body.status === 'running')
      expect((await exec(id, second)).status).toBe(200)
      expect(now.requests.filter(({ path }) => path.endsWith('/exec'))).toHaveLength(1)
      now.log('sandbox.paused', id)
      await eventually(async () => (await ask('GET', `/v1/sandboxes/${id}`)).body.status === 'paused')
      await eventually(async () => {
        const { body } = await ask('GET', `/v1/events?sandbox_id=${id}`)
        const found = body.map(({ type, agent_id: from }: { type: string; agent_id: string }) => [type, from])
        return found.some(([type, from]: string[]) => type === 'sandbox.paused' && from === now.state.agentId)
      })
      expect((await ask('DELETE', `/v1/sandboxes/${id}`)).status).toBe(204)
      // The drain does not wait until the source has removed its copy.
      await eventually(() => holders(id).length === 0)
      expect(holders(id)).toEqual([])
    },
  )

  it('says of everything that stays why it stays', { tags: ['faults'] }, async () => {
    const { body: volume } = await ask('POST', '/v1/volumes', { name: 'data' })
    const host = volume.agent_id as string
    const fixed = await create({ volumes: [{ name: 'data', path: '/data' }] })
    agentOf(host).state.cannotMove = 'it was forked from a sandbox that is here'
    for (const other of agents) if (other.state.agentId !== host) await operate('POST', `${other.state.agentId}/cordon`)
    const refused = await create()
    for (const other of agents) await operate('POST', `${other.state.agentId}/uncordon`)
    await ask('POST', `/v1/sandboxes/${fixed}/snapshots`, {})
    await operate('POST', `${host}/drain`)
    const { drain } = await drained(host)
    const [workspace_id, reason] = [alice.workspaceId, 'its data is on this host']
    expect(drain).toMatchObject({ moved: 1, failed: 1, staying: 3 })
    expect(drain.stays).toHaveLength(3)
    for (const stays of [
      { kind: 'sandbox', id: refused, workspace_id, reason: 'it was forked from a sandbox that is here' },
      { kind: 'sandbox', id: fixed, workspace_id, reason: 'it has a volume' },
      { kind: 'volume', id: 'data', workspace_id, reason },
    ])
      expect(drain.stays).toContainEqual(stays)
    // It ran before the attempt, so it runs again, and can be tried again.
    await eventually(async () => (await ask('GET', `/v1/sandboxes/${refused}`)).body.status === 'running')
    agentOf(host).state.cannotMove = null
    await operate('POST', `${host}/drain`)
    expect((await drained(host)).drain).toMatchObject({ moved: 1, failed: 0, staying: 2 })
    expect(await hostOf(refused)).not.toBe(host)
  })

  it('keeps what no other host can take, and goes on when it is uncordoned', { tags: ['faults'] }, async () => {
    const id = await create()
    const host = await hostOf(id)
    for (const other of agents) if (other.state.agentId !== host) await operate('POST', `${other.state.agentId}/cordon`)
    await operate('POST', `${host}/drain`)
    const { drain } = await drained(host)
    expect(drain).toMatchObject({
      failed: 1,
      staying: 1,
      stays: [{ kind: 'sandbox', id, reason: expect.stringContaining('no other host') }],
    })
    expect((await ask('GET', `/v1/sandboxes/${id}`)).body.status).toBe('running')
    expect((await operate('POST', `${host}/uncordon`)).body).toMatchObject({ state: 'ready', drain: null })
  })

  it('gives nothing more away once it is uncordoned', { tags: ['faults'] }, async () => {
    const id = await create()
    const host = await hostOf(id)
    const held = holdStep(agents, 'import')
    await operate('POST', `${host}/drain`)
    await held.begun
    expect((await operate('GET', host)).body.drain).toMatchObject({ left: 1, moving: 1, moved: 0 })
    const refused = await ask('POST', `/v1/sandboxes/${id}/wake`)
    expect([refused.status, refused.body.error]).toEqual([409, 'sandbox is moving to another host'])
    await operate('POST', `${host}/uncordon`)
    // The copy is broken off while the destination still holds it.
    await eventually(async () => (await exec(id)).status === 200)
    held.release()
    await eventually(
      async () => (await harness.pool.query('select from sandbox_moves where left_behind is not null')).rowCount === 0,
    )
    await eventually(() => holders(id).length === 1)
    expect(await hostOf(id)).toBe(host)
    expect((await ask('GET', `/v1/sandboxes/${id}`)).body.status).toBe('running')
  })

  it('is drained for operators only, and only if it is known', async () => {
    const id = agents[0]?.state.agentId
    for (const token of [alice.key, alice.jwt])
      expect((await call(control.url, 'POST', `/v1/admin/hosts/${id}/drain`, { token })).status).toBe(401)
    for (const unknown of ['self', 'nothing']) expect((await operate('POST', `${unknown}/drain`)).status).toBe(404)
  })
})
