import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retireAgent } from '../../../fleet/agent-statements.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { copySettings } from '../../../test/copy-settings.ts'
import { OPERATOR } from '../../../test/operator.ts'

describe('a snapshot with a stored copy', { tags: ['long'] }, () => {
  let harness: Harness
  let agents: FakeAgent[]
  let home: FakeAgent
  let away: FakeAgent
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
    const { body: sandbox } = await ask('POST', '/v1/sandboxes', { template: 'base' })
    id = (await ask('POST', `/v1/sandboxes/${sandbox.id}/snapshots`, {})).body.id
    home = agents.find(({ state }) => state.snapshots.has(id)) as FakeAgent
    away = agents.find((agent) => agent !== home) as FakeAgent
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
    await rm(folder, { recursive: true, force: true })
  })

  const ask = async (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const create = async () => ask('POST', '/v1/sandboxes', { from_snapshot: id })
  const copies = async () =>
    (await harness.pool.query('select state, reason from artifact_copies order by created_at')).rows
  const stored = async () => eventually(async () => (await copies()).at(-1)?.state === 'stored')
  const objects = async () => readdir(join(folder, 'streams')).catch(() => [])
  const homeOf = async () =>
    (await harness.pool.query('select agent_id, is_missing from snapshots where id = $1', [id])).rows[0]
  const kill = async (agent: FakeAgent) => {
    await agent.kill()
    await eventually(() => control.control.fleet.byId(agent.state.agentId)?.isReachable === false)
  }
  const lose = async (agent: FakeAgent) => {
    await kill(agent)
    await harness.pool.query('update agents set lost_at = now() where id = $1', [agent.state.agentId])
  }

  const reconcile = () => control.control.fleet.reconcileSoon(home.state.agentId)
  const isMissing = async (expected: boolean) =>
    eventually(async () => {
      reconcile()
      return (await homeOf()).is_missing === expected
    })
  const forget = async () => {
    home.state.snapshots.delete(id)
    await isMissing(true)
  }
  const hosts = async () => (await harness.pool.query('select agent_id, state from artifact_hosts')).rows
  const asked = (method: string, end: string) =>
    home.requests.filter((each) => each.method === method && each.path.endsWith(end)).length
  const isHomeAgain = async () => {
    expect([await homeOf(), await hosts()]).toEqual([{ agent_id: home.state.agentId, is_missing: false }, []])
    expect(home.state.snapshots.get(id)).toMatchObject({ workspace_id: alice.workspaceId })
    expect(asked('DELETE', id)).toBe(0)
    expect((await harness.pool.query('select from removed_objects where id = $1', [id])).rowCount).toBe(0)
  }

  it('is used on another host while its own is lost, and deleted with its objects', async () => {
    await stored()
    expect((await objects()).length).toBeGreaterThan(1)
    expect(await call(control.url, 'GET', '/metrics')).toMatchObject({
      body: expect.stringContaining('offshoot_snapshot_copies{status="stored"} 1'),
    })
    await lose(home)
    expect((await create()).status).toBe(201)
    expect(away.state.snapshots.get(id)).toMatchObject({ workspace_id: alice.workspaceId })
    expect((await homeOf()).agent_id).toBe(home.state.agentId)
    await harness.pool.query('delete from sandboxes')
    await harness.pool.query('delete from snapshots where id = $1', [id])
    expect(await copies()).toEqual([{ state: 'ended', reason: 'it was deleted' }])
    await eventually(async () => (await objects()).length === 0)
    control.control.fleet.reconcileSoon(away.state.agentId)
    await eventually(() => !away.state.snapshots.has(id))
    await eventually(async () => (await harness.pool.query('select from stored_streams')).rowCount === 0)
    expect((await harness.pool.query('select from artifact_hosts')).rowCount).toBe(0)
  })

  it('is used on another host after its own was removed, and is that host’s then', async () => {
    await stored()
    await kill(home)
    await retireAgent(harness.pool, home.state.agentId, null)
    expect((await create()).status).toBe(201)
    expect((await homeOf()).agent_id).toBe(away.state.agentId)
    expect((await ask('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
    expect(away.state.snapshots.has(id)).toBe(false)
  })

  it('keeps its row when its host has lost it, and is found again', async () => {
    await stored()
    const kept = home.state.snapshots.get(id)
    home.state.snapshots.delete(id)
    control.control.fleet.reconcileSoon(home.state.agentId)
    await eventually(async () => (await homeOf()).is_missing === true)
    home.state.snapshots.set(id, kept as never)
    control.control.fleet.reconcileSoon(home.state.agentId)
    await eventually(async () => (await homeOf()).is_missing === false)
    home.state.snapshots.delete(id)
    control.control.fleet.reconcileSoon(home.state.agentId)
    await eventually(async () => (await homeOf()).is_missing === true)
    expect((await create()).status).toBe(201)
    expect(await homeOf()).toEqual({ agent_id: away.state.agentId, is_missing: false })
  })

  describe('whose only host has lost it', () => {
    let kept: unknown

    beforeEach(async () => {
      await stored()
      await kill(away)
      kept = home.state.snapshots.get(id)
      await forget()
    })

    it('comes back there once for all who ask, each time it is lost, and is deleted as any other', async () => {
      expect((await Promise.all([create(), create(), create()])).map(({ status }) => status)).toEqual([201, 201, 201])
      expect(asked('PUT', 'import')).toBe(1)
      await isHomeAgain()
      await forget()
      expect((await create()).status).toBe(201)
      expect(asked('PUT', 'import')).toBe(2)
      await isHomeAgain()
      await harness.pool.query('delete from sandboxes')
      expect((await ask('DELETE', `/v1/snapshots/${id}`)).status).toBe(204)
      expect(home.state.snapshots.has(id)).toBe(false)
      await eventually(async () => (await objects()).length === 0)
    })

    it('comes back although the answer was lost', async () => {
      home.lostAnswers.add('import-snapshot')
      expect((await create()).status).toBe(201)
      await isHomeAgain()
    })

    it('does not come back from a damaged copy, and what its host finds meanwhile stays', async () => {
      home.onMove = async (step) => {
        if (step !== 'import-snapshot') return undefined
        home.state.snapshots.set(id, kept as never)
        return { status: 400, body: { error: 'the stream is damaged' } }
      }
      expect((await create()).status).toBe(502)
      expect(await hosts()).toEqual([])
      await isMissing(false)
      await isHomeAgain()
      home.onMove = async () => undefined
      expect((await create()).status).toBe(201)
      expect((await copies()).at(-1)).toMatchObject({ state: 'stored' })
    })

    it.each([
      ['before it was there', false],
      ['after it was there', true],
    ])('comes back if the process that brought it has died %s', async (_when, isThere) => {
      await harness.pool.query(
        `insert into artifact_hosts (artifact_id, agent_id, workspace_id, creator)
         select id, agent_id, workspace_id, 2147483647 from snapshots where id = $1`,
        [id],
      )
      if (isThere) home.state.snapshots.set(id, kept as never)
      await eventually(async () => {
        reconcile()
        return (await hosts()).length === 0
      })
      expect((await homeOf()).is_missing).toBe(!isThere)
      expect((await create()).status).toBe(201)
      await isHomeAgain()
    })
  })

  it('shares its bake with the other copies of the workspace', async () => {
    await stored()
    const { body: other } = await create()
    await ask('POST', `/v1/sandboxes/${other.id}/snapshots`, {})
    await eventually(async () => (await copies()).filter(({ state }) => state === 'stored').length === 2)
    const bakes = await harness.pool.query(`select from stored_streams where bake is not null and state = 'stored'`)
    const all = await harness.pool.query('select from stored_streams')
    expect([bakes.rowCount, all.rowCount]).toEqual([1, 3])
  })

  it('is stored after a failure, and is never deleted without a store', async () => {
    home.onMove = async (step) =>
      step === 'export-snapshot' ? { status: 500, body: { error: 'internal' } } : undefined
    await eventually(async () => (await copies()).some(({ state }) => state === 'ended'))
    home.onMove = async () => undefined
    await stored()
    await control.stop()
    control = await harness.control(agents, OPERATOR)
    await lose(home)
    expect(await create()).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    expect((await copies()).at(-1)).toMatchObject({ state: 'stored' })
    await control.stop()
    control = await harness.control([away], settings())
    await rm(join(folder, 'streams'), { recursive: true })
    expect(await create()).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    expect((await copies()).at(-1)).toMatchObject({ state: 'stored' })
  })
})
