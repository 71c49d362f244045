/** @module-tag long */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { holdStep } from '../../../test/hold-step.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const STEPS = ['leave', 'export', 'import', 'stay', 'gone'] as const

interface Move {
  readonly state: string
  readonly left_behind: string | null
}

const isOver = ({ state, left_behind: leftBehind }: Move) =>
  leftBehind === null && (state === 'done' || state === 'failed')

describe('a sandbox that moves to another host', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let source: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let id: string

  beforeEach(async () => {
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, OPERATOR)
    alice = await harness.tenant(control, 'alice')
    id = (await ask('POST', '', { template: 'base' })).body.id
    source = agents.find(({ state }) => state.sandboxes.has(id)) as FakeAgent
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
  })

  const ask = async (method: string, path: string, body?: unknown, on = control) =>
    call(on.url, method, `/v1/sandboxes${path}`, { token: alice.key, ...(body !== undefined && { body }) })
  const exec = async (on = control) => ask('POST', `/${id}/exec`, { cmd: 'true' }, on)
  const operate = async (method: string, path: string, on = control) =>
    call(on.url, method, `/v1/admin/hosts/${path}`, { token: OPERATOR_KEY })
  const drain = async () => operate('POST', `${source.state.agentId}/drain`)
  const other = () => agents.find((agent) => agent !== source) as FakeAgent
  const execs = (agent: FakeAgent) => agent.requests.filter(({ path }) => path === `/v1/sandboxes/${id}/exec`).length
  const movesOf = async () =>
    (await harness.pool.query('select state, reason, left_behind, to_agent from sandbox_moves order by created_at'))
      .rows
  const hostOf = async () =>
    (await harness.pool.query('select agent_id from sandboxes where id = $1', [id])).rows[0]?.agent_id as string
  const settled = async () =>
    eventually(async () => {
      const moves = await movesOf()
      return moves.length > 0 && moves.every(isOver) && moves.at(-1)
    })
  /** The sandbox is at the other host and works there, and the source has nothing of it. */
  const expectMoved = async (on = control) => {
    expect(await settled()).toMatchObject({ state: 'done', to_agent: other().state.agentId })
    expect(await hostOf()).toBe(other().state.agentId)
    expect([source, other()].map(({ state }) => state.sandboxes.has(id))).toEqual([false, true])
    const before = execs(other())
    expect((await exec(on)).status).toBe(200)
    expect([execs(source), execs(other())]).toEqual([0, before + 1])
  }
  /** @returns a function that starts the agent again */
  const kill = async (agent: FakeAgent) => {
    const { port } = agent
    await agent.kill()
    return () => start(agent, port)
  }
  const start = async (agent: FakeAgent, port: number) => {
    const again = await FakeAgent.start({ state: agent.state, port })
    agents = agents.map((each) => (each === agent ? again : each))
    if (source === agent) source = again
  }

  it('moves although the first answer to each step is lost, on either host', async () => {
    for (const agent of agents) for (const step of STEPS) agent.lostAnswers.add(step)
    expect((await drain()).status).toBe(200)
    await expectMoved()
  })

  it.each(['import', 'stay'])('is moved on by another process if one ends during %s', async (step) => {
    const held = holdStep(agents, step)
    expect((await drain()).status).toBe(200)
    await held.begun
    const second = await harness.control(agents, OPERATOR)
    await control.stop()
    held.release()
    await expectMoved(second)
  })

  it('stays with one host for reconciliation, whatever step it is at', async () => {
    for (const step of ['import', 'stay']) {
      const held = holdStep(agents, step)
      if (step === 'import') await drain()
      await held.begun
      const lists = () => agents.map(({ requests }) => requests.filter(({ path }) => path === '/v1/sandboxes').length)
      const before = lists()
      for (const { state } of agents) control.control.fleet.reconcileSoon(state.agentId)
      await eventually(() => lists().every((count, at) => count > (before[at] ?? 0)))
      const { rows } = await harness.pool.query('select status from sandboxes where id = $1', [id])
      expect(rows).toEqual([{ status: 'hibernated' }])
      held.release()
    }
    await expectMoved()
    for (const { state } of agents) control.control.fleet.reconcileSoon(state.agentId)
    expect((await harness.pool.query('select from reconcile_waiting')).rowCount).toBe(0)
    expect((await ask('GET', `/${id}`)).body.status).toBe('running')
  })

  it('stays as it is if the agent of a host is too old', async () => {
    other().onMove = async (action) => (action === 'bakes' ? { status: 404, body: { error: 'not found' } } : undefined)
    await drain()
    expect(await settled()).toMatchObject({ state: 'failed', reason: 'the version of an agent is too old for moves' })
    expect(source.requests.some(({ path }) => path.endsWith('/hibernate'))).toBe(false)
  })

  it('goes to the next host if one has no room', async () => {
    const third = await FakeAgent.start()
    agents = [...agents, third]
    const wider = await harness.control(agents, OPERATOR)
    await control.stop()
    control = wider
    let refusals = 0
    for (const agent of agents)
      agent.onMove = async (action) => {
        if (action !== 'import' || refusals === 1) return undefined
        refusals += 1
        return { status: 507, body: { error: 'insufficient host storage for sandbox' } }
      }
    await drain()
    await eventually(async () => (await movesOf()).at(-1)?.state === 'done')
    const [first, last] = await movesOf()
    expect(first).toMatchObject({ state: 'failed', reason: 'insufficient host storage for sandbox' })
    expect(last.to_agent).not.toBe(first.to_agent)
    expect(await hostOf()).toBe(last.to_agent)
  })

  it('stays where it is if an operator removes the destination before the commit', async () => {
    const held = holdStep(agents, 'import')
    await drain()
    await held.begun
    await harness.pool.query('update agents set retired_at = now() where id = $1', [other().state.agentId])
    held.release()
    expect(await settled()).toMatchObject({ state: 'failed', to_agent: other().state.agentId })
    expect(await hostOf()).toBe(source.state.agentId)
    expect(other().state.sandboxes.has(id)).toBe(false)
    expect((await exec()).status).toBe(200)
    expect([execs(source), execs(other())]).toEqual([1, 0])
  })

  it('waits for a destination that dies after the commit, and runs nowhere else', async () => {
    const held = holdStep(agents, 'stay')
    await drain()
    await held.begun
    expect(await hostOf()).toBe(other().state.agentId)
    const restart = await kill(other())
    held.release()
    const refused = await exec()
    expect([refused.status, refused.body.error]).toEqual([502, 'agent unreachable'])
    expect(execs(source)).toBe(0)
    await restart()
    await expectMoved()
  })

  it('goes on when a source is back that died before the commit', async () => {
    const held = holdStep(agents, 'export')
    await drain()
    await held.begun
    const restart = await kill(source)
    held.release()
    expect(await hostOf()).toBe(source.state.agentId)
    await restart()
    await expectMoved()
  })

  it('runs at once if the source dies after the commit, which removes its copy when it is back', async () => {
    const held = holdStep(agents, 'stay')
    await drain()
    await held.begun
    const restart = await kill(source)
    held.release()
    await eventually(async () => (await exec()).status === 200)
    expect(execs(other())).toBe(1)
    await eventually(async () => (await movesOf()).at(-1)?.state === 'done')
    expect((await movesOf()).at(-1)).toMatchObject({ left_behind: source.state.agentId })
    await restart()
    await settled()
    expect(source.state.sandboxes.has(id)).toBe(false)
  })

  it.each(['import', 'stay'])('can be deleted during %s, and is nowhere then', async (step) => {
    const held = holdStep(agents, step)
    await drain()
    await held.begun
    expect((await ask('DELETE', `/${id}`)).status).toBe(204)
    held.release()
    await settled()
    expect(await hostOf()).toBeUndefined()
    expect(agents.some(({ state }) => state.sandboxes.has(id))).toBe(false)
  })

  it('is told to a host that learned of the move too late', async () => {
    source.state.cannotMove = 'not now'
    await drain()
    await settled()
    const { rows } = await harness.pool.query('select id from sandbox_moves')
    await eventually(() => source.state.sandboxes.get(id)?.status === 'running')
    const found = source.state.sandboxes.get(id)
    if (found === undefined) throw new Error('the sandbox is gone')
    // A process that was stopped for long has asked the source after another process had ended the move.
    source.state.sandboxes.set(id, { ...found, move: { id: rows[0].id, direction: 'leaving' } })
    expect((await ask('POST', `/${id}/pause`)).status).toBe(409)
    control.control.fleet.reconcileSoon(source.state.agentId)
    await eventually(async () => (await ask('POST', `/${id}/pause`)).status === 200)
  })
})
