import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retireAgent } from '../../../fleet/agent-statements.ts'
import { recoverableCopies } from '../../../fleet/recovery-statements.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { holdStep } from '../../../test/hold-step.ts'
import { copySettings } from '../../../test/copy-settings.ts'

describe('a sandbox with a stored copy whose host is lost', { tags: ['faults'] }, () => {
  let harness: Harness
  let agents: FakeAgent[]
  let source: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let folder: string
  let id: string

  const settings = () => ({ ...copySettings({ folder }), lost_after_seconds: 60 })

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-copies-'))
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, settings())
    alice = await harness.tenant(control, 'alice')
    id = (await ask('POST', '', { template: 'base', persistent: true })).body.id
    source = agents.find(({ state }) => state.sandboxes.has(id)) as FakeAgent
    expect((await ask('POST', `/${id}/hibernate`)).status).toBe(200)
    await eventually(async () => (await copy()).state === 'stored')
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
    await rm(folder, { recursive: true, force: true })
  })

  const ask = async (method: string, path: string, body?: unknown) =>
    call(control.url, method, `/v1/sandboxes${path}`, { token: alice.key, ...(body !== undefined && { body }) })
  const exec = async () => ask('POST', `/${id}/exec`, { cmd: 'true' })
  const other = () => agents.find((agent) => agent !== source) as FakeAgent
  const execs = (agent: FakeAgent) => agent.requests.filter(({ path }) => path === `/v1/sandboxes/${id}/exec`).length
  /** The first copy. */
  const copy = async () =>
    (await harness.pool.query('select id, state, is_settled from sandbox_copies order by created_at')).rows[0] ?? {}
  const moves = async () =>
    (await harness.pool.query('select state, reason, left_behind, to_agent from sandbox_moves order by created_at'))
      .rows
  const restoreDatabase = async () => harness.pool.query(`update sandbox_copies set incarnation = 'of the backup'`)
  const metric = async () => (await call(control.url, 'GET', '/metrics')).body as string
  const hostOf = async () =>
    (await harness.pool.query('select agent_id from sandboxes where id = $1', [id])).rows[0]?.agent_id as string
  /** @param whileAway happens before the host counts as lost */
  const kill = async (agent: FakeAgent, whileAway: () => Promise<unknown> = async () => undefined) => {
    const { port } = agent
    await agent.kill()
    await eventually(() => control.control.fleet.byId(agent.state.agentId)?.isReachable === false)
    await whileAway()
    // Sooner than by the setting.
    await harness.pool.query('update agents set lost_at = now() where id = $1', [agent.state.agentId])
    return async () => {
      const again = await FakeAgent.start({ state: agent.state, port })
      agents = agents.map((each) => (each === agent ? again : each))
      if (source === agent) source = again
    }
  }
  /** Where the sandbox is after it was recovered, and where the next command in it runs. */
  const recovered = async () => {
    await eventually(async () => (await moves()).at(-1)?.state === 'done')
    const before = execs(source)
    const { status } = await exec()
    return { host: await hostOf(), status, execs: [execs(source) - before, execs(other())] }
  }
  const there = () => ({ host: other().state.agentId, status: 200, execs: [0, 1] })
  /** The objects of the sandbox's own stream, or of its bake. */
  const objectsOf = async (isBake: boolean) => {
    const { rows } = await harness.pool.query(
      `select id from stored_streams where state = 'stored' and (bake is not null) = $1`,
      [isBake],
    )
    const names = await readdir(join(folder, 'streams'))
    return names.filter((name) => name.startsWith(rows[0].id)).map((name) => join(folder, 'streams', name))
  }

  it('wakes on another host, and its old host removes it when it is back', async () => {
    const restart = await kill(source)
    expect(await recovered()).toEqual(there())
    expect((await moves()).at(-1)).toMatchObject({ left_behind: source.state.agentId })
    const { rows } = await harness.pool.query(`select action, details from audit_log where target = $1`, [id])
    expect(rows).toContainEqual({
      action: 'sandbox.recovered',
      details: { from: source.state.agentId, to: other().state.agentId },
    })
    expect(source.state.sandboxes.get(id)?.move).toMatchObject({ direction: 'leaving' })
    await restart()
    await eventually(async () => (await moves()).at(-1)?.left_behind === null)
    expect(source.state.sandboxes.has(id)).toBe(false)
    expect(await hostOf()).toBe(other().state.agentId)
    expect((await exec()).status).toBe(200)
    expect((await ask('GET', `/${id}`)).body.status).not.toBe('failed')
  })

  it.each(['import', 'stay'])(
    'wakes on another host although the answer to %s is lost',
    { tags: ['long'] },
    async (step) => {
      other().lostAnswers.add(step)
      await kill(source)
      expect(await recovered()).toEqual(there())
    },
  )

  it.each(['import', 'stay'])(
    'wakes on another host although the process ends during %s',
    { tags: ['long'] },
    async (step) => {
      const held = holdStep([other()], step)
      await kill(source)
      await held.begun
      const first = control
      control = await harness.control([other()], settings())
      await first.stop()
      held.release()
      expect(await recovered()).toEqual(there())
    },
  )

  it('belongs to its own host if that is back in time and uses it', async () => {
    const held = holdStep([other()], 'import')
    const restart = await kill(source)
    await held.begun
    await restart()
    await eventually(async () => (await exec()).status === 200)
    held.release()
    await eventually(async () => {
      const last = (await moves()).at(-1)
      return last?.state === 'failed' && last.left_behind === null
    })
    expect(await hostOf()).toBe(source.state.agentId)
    expect(other().state.sandboxes.has(id)).toBe(false)
    expect([execs(source), execs(other())]).toEqual([1, 0])
  })

  it('is at exactly one host, whoever comes first', async () => {
    const held = holdStep([other()], 'import')
    const restart = await kill(source)
    await held.begun
    await restart()
    held.release()
    const answers = await Promise.all(Array.from({ length: 10 }, exec))
    const host = await eventually(async () => {
      const last = (await moves()).at(-1)
      return (last?.state === 'done' || last?.state === 'failed') && last.left_behind === null && hostOf()
    })
    const loser = agents.find(({ state }) => state.agentId !== host)
    expect(loser?.state.sandboxes.has(id)).toBe(false)
    expect(answers.every(({ status }) => status === 200 || status === 409 || status === 502)).toBe(true)
    expect((await exec()).status).toBe(200)
    expect(agents.filter((agent) => execs(agent) > 0).map(({ state }) => state.agentId)).toEqual([host])
  })

  it('waits while no host has room, and is recovered then', { tags: ['long'] }, async () => {
    other().onMove = async (action) =>
      action === 'import' ? { status: 507, body: { error: 'insufficient host storage for sandbox' } } : undefined
    await kill(source)
    await eventually(async () => (await moves())[0]?.state === 'failed')
    expect((await copy()).state).toBe('stored')
    expect((await exec()).body.error).toBe('agent unreachable')
    const third = await FakeAgent.start()
    agents = [...agents, third]
    await control.stop()
    control = await harness.control([other(), third], settings())
    await eventually(async () => (await moves()).at(-1)?.state === 'done')
    expect(await hostOf()).toBe(third.state.agentId)
    expect((await exec()).status).toBe(200)
  })

  it.each([
    ['its own', false],
    ['its bake’s', true],
  ])('keeps its copy if an object is damaged: %s', { tags: ['long'] }, async (_name, isBake) => {
    const [object = ''] = await objectsOf(isBake)
    const content = await readFile(object)
    await writeFile(object, Buffer.concat([content.subarray(0, -1), Buffer.of((content.at(-1) ?? 0) ^ 1)]))
    await kill(source)
    await eventually(async () => (await moves())[0]?.reason?.startsWith('the object store: '))
    expect(other().state.sandboxes.has(id)).toBe(false)
    expect((await copy()).state).toBe('stored')
    await writeFile(object, content)
    await harness.pool.query(`update sandbox_moves set created_at = created_at - interval '11 minutes'`)
    expect(await recovered()).toEqual(there())
  })

  it('cannot be read with the key of another workspace', { tags: ['long'] }, async () => {
    const bob = await harness.tenant(control, 'bob')
    await harness.pool.query(`update stored_streams set workspace_id = $1 where bake is null`, [bob.workspaceId])
    await kill(source)
    await eventually(async () => (await moves())[0]?.reason?.startsWith('the object store: '))
    expect(other().state.sandboxes.has(id)).toBe(false)
  })

  it('can be deleted while it is recovered, and is nowhere then', async () => {
    const held = holdStep([other()], 'import')
    const restart = await kill(source)
    await held.begun
    await restart()
    await eventually(async () => (await ask('DELETE', `/${id}`)).status === 204)
    held.release()
    await eventually(async () => (await moves()).every(({ state, left_behind }) => state === 'failed' && !left_behind))
    expect(agents.some(({ state }) => state.sandboxes.has(id))).toBe(false)
    expect(await hostOf()).toBeUndefined()
  })

  it('outlives the removal of its host', { tags: ['long'] }, async () => {
    await kill(source)
    await harness.pool.query('update agents set retired_at = now() where id = $1', [source.state.agentId])
    expect(await recovered()).toEqual(there())
    await eventually(async () => (await moves()).at(-1)?.left_behind === null)
  })

  it('is recovered if its host has lost its disk', { tags: ['long'] }, async () => {
    source.state.sandboxes.delete(id)
    control.control.fleet.reconcileSoon(source.state.agentId)
    expect(await recovered()).toEqual(there())
  })

  describe('after the database was restored from a backup', () => {
    it('stays where it is, because the copy may be outdated, and is reported', { tags: ['long'] }, async () => {
      const restart = await kill(source, restoreDatabase)
      await eventually(async () => (await metric()).includes('offshoot_sandbox_copies{status="unproven"} 1'))
      expect((await exec()).body.error).toBe('agent unreachable')
      expect(await recoverableCopies(harness.pool, 1)).toEqual([])
      await restart()
      await eventually(async () => (await exec()).status === 200)
      expect(await hostOf()).toBe(source.state.agentId)
    })

    it('is not taken over by a move that the backup knows', { tags: ['long'] }, async () => {
      const held = holdStep([other()], 'import')
      await kill(source)
      await held.begun
      await restoreDatabase()
      held.release()
      await eventually(async () => {
        const [first] = await moves()
        return first?.state === 'failed' && first.left_behind === null
      })
      expect(await hostOf()).toBe(source.state.agentId)
      expect(other().state.sandboxes.has(id)).toBe(false)
    })

    it(
      'is recovered if its host has answered since, and waits for the end of this copy',
      { tags: ['long'] },
      async () => {
        await restoreDatabase()
        control.control.fleet.reconcileSoon(source.state.agentId)
        await eventually(async () => !(await metric()).includes('status="unproven"'))
        await kill(source)
        expect(await recovered()).toEqual(there())
      },
    )

    it('is recovered if an operator removes its host', { tags: ['long'] }, async () => {
      await kill(source, restoreDatabase)
      expect(await retireAgent(harness.pool, source.state.agentId, null)).toHaveLength(1)
      expect(await recovered()).toEqual(there())
    })
  })

  it('does not wait for a drain that cannot begin', { tags: ['long'] }, async () => {
    const { agentId } = source.state
    await kill(source)
    await harness.pool.query(
      `insert into sandbox_moves (sandbox_id, workspace_id, from_agent, to_agent, state)
       select id, workspace_id, agent_id, $2, 'leaving' from sandboxes where id = $1`,
      [id, other().state.agentId],
    )
    expect(await recovered()).toEqual(there())
    expect((await moves())[0]).toMatchObject({ state: 'failed', reason: 'the host was lost' })
    expect(agentId).not.toBe(await hostOf())
  })
})
