/** @module-tag long */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retireAgent } from '../../../fleet/agent-statements.ts'
import { copySettings } from '../../../test/copy-settings.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { templateOf } from '../../../test/template-of.ts'

describe('a built template with a stored copy', { tags: ['faults'] }, () => {
  let harness: Harness
  let agents: FakeAgent[]
  let home: FakeAgent
  let away: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let folder: string
  let id: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-copies-'))
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, { ...copySettings({ folder }), lost_after_seconds: 60 })
    alice = await harness.tenant(control, 'alice')
    const built = await templateOf(control, alice, agents)
    id = built.id
    home = built.home
    away = agents.find((agent) => agent !== home) as FakeAgent
    await eventually(async () => (await copies()).at(-1)?.state === 'stored')
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
    await rm(folder, { recursive: true, force: true })
  })

  const ask = async (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const create = async () => ask('POST', '/v1/sandboxes', { template: 'mine' })
  const copies = async () =>
    (await harness.pool.query('select state, reason from artifact_copies order by created_at')).rows
  const objects = async () => readdir(join(folder, 'streams')).catch(() => [])
  const row = async () =>
    (await harness.pool.query('select agent_id, is_missing from templates where id = $1', [id])).rows[0]
  const kill = async (agent: FakeAgent) => {
    await agent.kill()
    await eventually(() => control.control.fleet.byId(agent.state.agentId)?.isReachable === false)
  }
  const lose = async (agent: FakeAgent) => {
    await kill(agent)
    await harness.pool.query('update agents set lost_at = now() where id = $1', [agent.state.agentId])
  }

  it('is used on another host while its own is lost, and deleted with its objects', async () => {
    expect(await objects()).toHaveLength(1)
    expect(await call(control.url, 'GET', '/metrics')).toMatchObject({
      body: expect.stringContaining('offshoot_template_copies{status="stored"} 1'),
    })
    await lose(home)
    expect((await create()).status).toBe(201)
    expect(away.state.builds.templates.get(id)).toBe(alice.workspaceId)
    expect((await row()).agent_id).toBe(home.state.agentId)
    expect((await ask('DELETE', '/v1/templates/mine')).status).toBe(204)
    expect(away.state.builds.templates.has(id)).toBe(false)
    expect(await copies()).toEqual([{ state: 'ended', reason: 'it was deleted' }])
    await eventually(async () => (await objects()).length === 0)
    await eventually(async () => (await harness.pool.query('select from stored_streams')).rowCount === 0)
  })

  it('is that of another host once its own was removed', async () => {
    await kill(home)
    await retireAgent(harness.pool, home.state.agentId, null)
    expect((await create()).status).toBe(201)
    expect(await row()).toEqual({ agent_id: away.state.agentId, is_missing: false })
  })

  it('is used on another host once its own has lost it, or found there again', async () => {
    home.state.builds.templates.delete(id)
    control.control.fleet.reconcileSoon(home.state.agentId)
    await eventually(async () => (await row()).is_missing === true)
    home.state.builds.templates.set(id, alice.workspaceId)
    control.control.fleet.reconcileSoon(home.state.agentId)
    await eventually(async () => (await row()).is_missing === false)
    home.state.builds.templates.delete(id)
    control.control.fleet.reconcileSoon(home.state.agentId)
    await eventually(async () => (await row()).is_missing === true)
    expect((await create()).status).toBe(201)
    expect(await row()).toEqual({ agent_id: away.state.agentId, is_missing: false })
  })

  it('comes back to its own host once that has lost it, if there is no other one', async () => {
    await kill(away)
    for (const imports of [1, 2]) {
      home.state.builds.templates.delete(id)
      control.control.fleet.reconcileSoon(home.state.agentId)
      await eventually(async () => (await row()).is_missing === true)
      expect((await Promise.all([create(), create()])).map(({ status }) => status)).toEqual([201, 201])
      expect(await row()).toEqual({ agent_id: home.state.agentId, is_missing: false })
      expect((await harness.pool.query('select from artifact_hosts')).rowCount).toBe(0)
      expect(home.state.builds.templates.get(id)).toBe(alice.workspaceId)
      expect(home.requests.filter(({ path }) => path.endsWith('/import'))).toHaveLength(imports)
    }
  })

  it('is not used if an object is damaged or missing, and stays', async () => {
    await lose(home)
    const [name = ''] = await objects()
    const path = join(folder, 'streams', name)
    const content = await readFile(path)
    const damaged = Buffer.from(content)
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 1) ^ 1, damaged.length - 1)
    await writeFile(path, damaged)
    expect(await create()).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    await rm(path)
    expect((await create()).status).toBe(502)
    expect([await copies(), away.state.builds.templates.size]).toEqual([[{ state: 'stored', reason: null }], 0])
    await writeFile(path, content)
    expect((await create()).status).toBe(201)
  })

  it('of an earlier template ends when another one takes its name', async () => {
    const next = await templateOf(control, alice, agents)
    expect((await copies())[0]).toEqual({ state: 'ended', reason: 'it was deleted' })
    await eventually(async () => (await copies()).at(-1)?.state === 'stored')
    await eventually(async () => (await objects()).length === 1)
    expect(next.id).not.toBe(id)
  })
})
