import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { failSandboxesOf, retireAgent } from '../../../fleet/agent-statements.ts'
import { type AppHost, AppsOnHosts, type DeployedApp } from '../../../test/apps-on-hosts.ts'
import { ProcessLock } from '../../../platform/db/process-lock.ts'
import { eventually } from '../../../test/harness.ts'
import { edgeApps } from '../edge-app-statements.ts'
import { queueReplacement, replaceableVersions } from './replacement-statements.ts'

describe('an app whose host is lost', () => {
  let world: AppsOnHosts

  afterEach(async () => world.stop())

  /** An app on one of two hosts, and the other host. */
  async function onTwoHosts(settings = {}): Promise<{ app: DeployedApp; host: AppHost; other: AppHost }> {
    world = await AppsOnHosts.start(2, settings)
    const app = await world.deployed('site')
    const host = (await world.hostOf(app)) as AppHost
    return { app, host, other: world.hosts.find((each) => each !== host) as AppHost }
  }
  const replaceable = async () => replaceableVersions(world.harness.pool, 10, true)
  const cordon = async (host: AppHost) => world.operate('POST', `${host.id}/cordon`)
  const uncordon = async (host: AppHost) => world.operate('POST', `${host.id}/uncordon`)

  it(
    'is built again on another one, and the old sandbox is removed when the host is back',
    { tags: ['faults'] },
    async () => {
      const { app, host, other } = await onTwoHosts()
      const [old = ''] = host.sandboxes
      const instance = await world.harness.twinOf(old, 'running')
      await world.harness.pool.query(
        `insert into app_instances (id, app_id, deployment_id, creator, status) values ($1, $2, $3, 0, 'serving')`,
        [instance, app.id, app.deployment],
      )
      await world.lose(host)
      expect(await world.leaves(app, host)).toBe(other)
      expect((await edgeApps(world.harness.pool, [app.id]))[0]?.sandbox_ids).toHaveLength(1)
      const [replacement, before] = await world.deploymentsOf(app)
      expect(replacement).toMatchObject({ status: 'live', cause: 'host_lost', from_agent: host.id })
      expect(before).toMatchObject({ id: app.deployment, status: 'superseded', cause: null })
      const { build_logs: log } = await world.over(app.id, replacement?.id ?? '', 'live')
      expect(log).toMatch(/^the host of the live version is lost: it is built again on another one\n/)
      const details = { deployment_id: replacement?.id, cause: 'host_lost', from: host.id, to: other.id }
      expect(await world.entriesOf(app.id)).toEqual([
        { action: 'app.recovered', workspace_id: world.alice.workspaceId, details },
      ])
      expect((await world.ask('GET', `/v1/apps/${app.id}`)).body.status).toBe('running')
      await world.harness.pool.query('update app_instances set drain_until = now()')
      await eventually(async () => (await world.harness.pool.query('select from app_instances')).rowCount === 0)
      await world.harness.pool.query('update app_deployments set drain_until = now() where drain_until is not null')
      await host.restart()
      await eventually(() => host.sandboxes.length === 0)
      expect(host.agent.requests).toContainEqual(
        expect.objectContaining({ method: 'DELETE', path: `/v1/sandboxes/${old}` }),
      )
      expect(await world.hostOf(app)).toBe(other)
      expect(await replaceable()).toEqual([])
    },
  )

  it('goes on there if the host is back before the build ends, or before it begins', { tags: ['faults'] }, async () => {
    const { app, host, other } = await onTwoHosts()
    const building = other.guest.fail('site', 'build', 'hang')
    await world.lose(host)
    await building
    expect((await world.ask('GET', `/v1/apps/${app.id}`)).body.status).toBe('building')
    await host.restart()
    await world.isHeard(host)
    expect(await world.hostOf(app)).toBe(host)
    other.guest.stop()
    const [failed] = await world.deploymentsOf(app)
    await world.over(app.id, failed?.id ?? '', 'failed')
    expect((await world.ask('GET', `/v1/apps/${app.id}`)).body.status).toBe('running')
    await queueReplacement(world.harness.pool, randomUUID(), app.id, app.deployment, 'host_lost')
    await eventually(async () => (await world.deploymentsOf(app))[0]?.status === 'superseded')
    const [dropped] = await world.deploymentsOf(app)
    expect(dropped).toMatchObject({ cause: 'host_lost', error: 'the live version can stay on its host' })
    expect(await world.hostOf(app)).toBe(host)
    expect(await replaceable()).toEqual([])
  })

  it('is replaced by the build that goes on when the host is back', { tags: ['long'] }, async () => {
    const { app, host, other } = await onTwoHosts()
    const held = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    other.agent.onCreate = async () => {
      asked.resolve()
      await held.promise
      return undefined
    }
    await world.lose(host)
    await asked.promise
    await host.restart()
    await world.isHeard(host)
    held.resolve()
    expect(await world.leaves(app, host)).toBe(other)
    await eventually(() => host.sandboxes.length === 0)
    expect((await world.deploymentsOf(app)).map(({ status }) => status)).toEqual(['live', 'superseded'])
  })

  it('waits until a host can take it, and makes no deployment before', { tags: ['long'] }, async () => {
    const { app, host, other } = await onTwoHosts()
    await cordon(other)
    await world.lose(host)
    expect((await replaceable()).map(({ id, cause }) => [id, cause])).toEqual([[app.id, 'host_lost']])
    expect(await replaceableVersions(world.harness.pool, 10, false)).toEqual([])
    expect((await world.ask('GET', `/v1/apps/${app.id}`)).body.status).not.toBe('running')
    await uncordon(other)
    expect(await world.leaves(app, host)).toBe(other)
    expect(await world.deploymentsOf(app)).toHaveLength(2)
  })

  it('is built a limited number of times, with growing pauses, if no build succeeds', { tags: ['long'] }, async () => {
    const { app, host, other } = await onTwoHosts()
    void other.guest.fail('site', 'build', { exit: 1, stderr: 'no such branch' })
    await world.lose(host)
    const [first] = await eventually(async () => {
      const rows = await world.deploymentsOf(app)
      return rows[0]?.status === 'failed' ? rows : null
    })
    expect(first).toMatchObject({ cause: 'host_lost', error: 'build failed with code 1: no such branch' })
    expect(await replaceable()).toEqual([])
    await world.age()
    await eventually(async () => (await world.deploymentsOf(app)).length === 3)
    await eventually(async () => (await world.deploymentsOf(app))[0]?.status === 'failed')
    const again = (count: number) =>
      world.harness.pool.query(
        `insert into app_deployments (id, app_id, status, git_ref, git_commit, origin_id, port, cause, error, finished_at)
         select gen_random_uuid(), app_id, status, git_ref, git_commit, origin_id, port, cause, error, finished_at
         from app_deployments, generate_series(1, $2) where id = $1`,
        [first?.id, count],
      )
    await cordon(other)
    await again(7)
    await world.harness.pool.query(`update app_deployments set finished_at = now() - interval '1 day'`)
    expect(await replaceable()).toHaveLength(1)
    await again(1)
    expect(await replaceable()).toEqual([])
    // Its users may still deploy it.
    await uncordon(other)
    other.guest.heal('site')
    await world.deploy(app.id)
    expect(await world.hostOf(app)).toBe(other)
  })

  it('comes back although the lost sandboxes fill the quota, and counts once', { tags: ['long'] }, async () => {
    const { app, host, other } = await onTwoHosts({ limits: { default_plan: 'free' } })
    const create = async () => world.ask('POST', '/v1/sandboxes', { template: 'app' })
    const made = await Promise.all(Array.from({ length: 9 }, create))
    expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 201))
    expect((await create()).status).toBe(429)
    await world.lose(host)
    expect(await world.leaves(app, host)).toBe(other)
    expect((await create()).body).toMatchObject({ error: 'max sandboxes reached', active: 10 })
  })

  it('waits while its workspace may create nothing', { tags: ['long'] }, async () => {
    const { app, host, other } = await onTwoHosts({ limits: { default_plan: 'free' } })
    const exhaust = (until: string) =>
      world.harness.pool.query(`update workspace_accounts set exhausted_until = ${until} where workspace_id = $1`, [
        world.alice.workspaceId,
      ])
    await exhaust(`now() + interval '1 day'`)
    await world.lose(host)
    expect(await replaceable()).toEqual([])
    await exhaust('null')
    expect(await world.leaves(app, host)).toBe(other)
  })

  it('is built again a few at a time, those first that somebody deploys', { tags: ['long'] }, async () => {
    world = await AppsOnHosts.start(2)
    const [host, other] = world.hosts as [AppHost, AppHost]
    await cordon(other)
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const apps = await Promise.all(names.map(async (name) => world.deployed(name)))
    for (const name of names) void other.guest.fail(name, 'build', 'hang')
    await world.lose(host)
    await uncordon(other)
    const open = async () => {
      const all = await Promise.all(apps.map(async (app) => world.deploymentsOf(app)))
      return all.filter(([newest]) => newest?.cause === 'host_lost' && newest.status === 'building').length
    }
    await eventually(async () => (await open()) === 4)
    expect(await replaceableVersions(world.harness.pool, 4, true)).toEqual([])
    expect((await world.deployed('new')).deployment).toMatch(/-/)
    expect(await open()).toBe(4)
  })

  it(
    'is built by one of several control processes, and by the next one if that loses its hold',
    { tags: ['long'] },
    async () => {
      const { app, host, other } = await onTwoHosts()
      await world.startControl()
      const building = other.guest.fail('site', 'build', 'hang')
      await world.lose(host)
      await building
      other.guest.heal('site')
      const { rows } = await world.harness.pool.query('select creator from app_deployments where cause is not null')
      expect(rows).toHaveLength(1)
      const { rowCount } = await world.harness.pool.query(
        `select pg_terminate_backend(pid) from pg_locks
       where locktype = 'advisory' and classid = $1 and objid = $2 and granted`,
        [ProcessLock.PROCESS, rows[0].creator],
      )
      expect(rowCount).toBe(1)
      expect(await world.leaves(app, host)).toBe(other)
      expect(await world.deploymentsOf(app)).toHaveLength(2)
    },
  )

  it('is built again if the host is removed', { tags: ['faults'] }, async () => {
    const { app, host, other } = await onTwoHosts()
    await host.kill()
    await world.age()
    await retireAgent(world.harness.pool, host.id, null)
    await failSandboxesOf(world.harness.pool, [host.id], 0)
    expect(await world.leaves(app, host)).toBe(other)
    expect((await world.deploymentsOf(app))[0]).toMatchObject({ cause: 'host_lost', from_agent: host.id })
  })

  it('can go back to a version that was there: that is built again', { tags: ['long'] }, async () => {
    const { app, host, other } = await onTwoHosts()
    await cordon(host)
    const second = await world.deploy(app.id)
    expect(await world.hostOf(app)).toBe(other)
    await world.lose(host)
    const { body } = await world.ask('POST', `/v1/apps/${app.id}/rollback`)
    const { build_logs: log } = await world.over(app.id, body.id, 'live')
    expect(log).toContain('==> build: build-it')
    expect(log).not.toContain('==> wake')
    expect(await world.hostOf(app)).toBe(other)
    expect((await world.deploymentsOf(app)).map(({ id, cause }) => [id, cause])).toEqual([
      [body.id, null],
      [second, null],
      [app.deployment, null],
    ])
  })
})
