import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failRecoveries } from '../../test/fail-recoveries.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import type { FakeFile } from '../../test/fake-agent-state.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { holdStep } from '../../test/hold-step.ts'
import { OPERATOR, OPERATOR_KEY } from '../../test/operator.ts'

const STEPS = ['leave', 'export', 'import', 'list-archive', 'get-archive', 'put-archive', 'stay', 'gone'] as const
const SEGMENTS = [1, 2, 3, 4, 5].map((n) => `00000001000000000000000${n}`)

const archived = (names: readonly string[], takenAt = new Date().toISOString()) =>
  new Map<string, FakeFile>(names.map((name) => [name, { content: Buffer.from(`content of ${name}`), takenAt }]))

describe('a database on a host that is drained', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let source: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let id: string

  beforeEach(async () => {
    agents = await Promise.all([1, 2].map(() => FakeAgent.start({ templates: ['base', 'postgres-16'] })))
    harness = await Harness.start()
    control = await harness.control(agents, OPERATOR)
    alice = await harness.tenant(control, 'alice')
    id = await fakeDatabase(harness, control, alice)
    source = agents.find(({ state }) => state.sandboxes.has(id)) as FakeAgent
    source.state.archives.set(id, archived(SEGMENTS))
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
  })

  const operate = async (method: string, path: string, on = control) =>
    call(on.url, method, `/v1/admin/hosts/${path}`, { token: OPERATOR_KEY })
  const ask = async (method: string, path: string, body?: object) =>
    call(control.url, method, `/v1/databases/${id}${path}`, { token: alice.key, ...(body && { body }) })
  const drain = async () => operate('POST', `${source.state.agentId}/drain`)
  const other = () => agents.find((agent) => agent !== source) as FakeAgent
  const hostOf = async () =>
    (await harness.pool.query('select agent_id from sandboxes where id = $1', [id])).rows[0]?.agent_id as string
  const movesOf = async () =>
    (await harness.pool.query('select state, reason, left_behind, to_agent from sandbox_moves order by created_at'))
      .rows
  const settled = async () =>
    eventually(async () => {
      const moves = await movesOf()
      const isOver = moves.every(({ state, left_behind: left }) => left === null && /^(done|failed)$/.test(state))
      return moves.length > 0 && isOver && moves.at(-1)
    })
  const drained = async () =>
    eventually(async () => {
      const { body } = await operate('GET', source.state.agentId)
      return body.drain?.ended_at == null ? null : body
    })
  const expectMoved = async () => {
    expect(await settled()).toMatchObject({ state: 'done', to_agent: other().state.agentId })
    expect(await hostOf()).toBe(other().state.agentId)
    expect(other().state.archives.get(id)).toEqual(expected)
    expect([source.state.sandboxes.has(id), source.state.archives.has(id)]).toEqual([false, false])
    await eventually(() => other().state.sandboxes.get(id)?.status === 'running')
  }
  /** It is as before, and the other host has nothing of it. */
  const expectAtHome = async () => {
    expect(await settled()).toMatchObject({ state: 'failed' })
    expect(await hostOf()).toBe(source.state.agentId)
    expect(source.state.archives.get(id)).toEqual(expected)
    await eventually(() => source.state.sandboxes.get(id)?.status === 'running')
    expect([other().state.sandboxes.has(id), other().state.archives.has(id)]).toEqual([false, false])
  }
  let expected: Map<string, FakeFile>
  beforeEach(() => {
    expected = new Map(source.state.archives.get(id))
  })

  it('moves with its archive, and the host is empty', async () => {
    await drain()
    await expectMoved()
    const { drain: ended } = await drained()
    expect(ended).toMatchObject({ moved: 1, failed: 0, staying: 0 })
    expect((await ask('GET', '')).body).toMatchObject({ id, status: 'running' })
  })

  it('moves although the first answer to each step is lost, on either host', { tags: ['long'] }, async () => {
    for (const agent of agents) for (const step of STEPS) agent.lostAnswers.add(step)
    expect((await drain()).status).toBe(200)
    await expectMoved()
  })

  it('is moved on by another process if one ends while it copies the archive', { tags: ['long'] }, async () => {
    const held = holdStep(agents, 'put-archive')
    expect((await drain()).status).toBe(200)
    await held.begun
    const second = await harness.control(agents, OPERATOR)
    await control.stop()
    held.release()
    control = second
    await expectMoved()
  })

  it('stays with its archive if the other host has no room for the archive', { tags: ['long'] }, async () => {
    const full = { status: 507, body: { error: 'insufficient host storage for sandbox' } }
    other().onMove = async (step) => (step === 'put-archive' ? full : undefined)
    await drain()
    await expectAtHome()
    const reason = expect.stringContaining('no other host')
    const { drain: ended } = await drained()
    expect(ended.stays).toEqual([{ kind: 'database', id, workspace_id: alice.workspaceId, reason }])
  })

  it('stays with its archive if the other host has another file of the same name', { tags: ['faults'] }, async () => {
    other().state.archives.set(id, archived([SEGMENTS[2] ?? '']))
    other()
      .state.archives.get(id)
      ?.set(SEGMENTS[2] ?? '', { content: Buffer.from('other'), takenAt: '' })
    other().onMove = async (step) =>
      step === 'list-archive' ? { status: 200, body: { cursor: '', files: [] } } : undefined
    expect((await drain()).status).toBe(200)
    await expectAtHome()
  })

  it('can be deleted while its archive is copied, and is nowhere then', { tags: ['faults'] }, async () => {
    const held = holdStep(agents, 'put-archive')
    await drain()
    await held.begun
    expect((await ask('DELETE', '')).status).toBe(204)
    held.release()
    await settled()
    expect(await hostOf()).toBeUndefined()
    expect(agents.some(({ state }) => state.sandboxes.has(id))).toBe(false)
  })

  it('moves once it is made', { tags: ['long'] }, async () => {
    await harness.pool.query(`update databases set status = 'provisioning'`)
    await drain()
    await eventually(async () => (await operate('GET', source.state.agentId)).body.drain !== null)
    expect(await movesOf()).toEqual([])
    await harness.pool.query(`update databases set status = 'ready'`)
    await expectMoved()
  })

  it(
    'can be restored after its move to a time before it, with the files that its backup needs',
    { tags: ['faults'] },
    async () => {
      await ask('POST', '/backups', {})
      const takenAt = new Date(Date.now() - 60_000)
      await harness.pool.query('update database_backups set taken_at = $1', [takenAt])
      const old = archived(['00000001000000000000000A'], new Date(0).toISOString())
      for (const [name, file] of old) source.state.archives.get(id)?.set(name, file)
      expected = new Map(source.state.archives.get(id))
      // The backup stays, because it has no room at the other host.
      other().onMove = async (step) =>
        step === 'import-snapshot' ? { status: 507, body: { error: 'sandbox storage is full' } } : undefined
      await drain()
      await expectMoved()
      const fed = failRecoveries(agents)
      const time = new Date(takenAt.getTime() + 1_000).toISOString()
      expect((await ask('POST', '/restore', { time })).status).toBe(409)
      const made = [...source.state.archives.keys()].find((each) => each !== id)
      expect(fed).toEqual([{ from: made }])
      expect([...(source.state.archives.get(made ?? '')?.keys() ?? [])]).toEqual(SEGMENTS)
    },
  )
})
