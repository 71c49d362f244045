/** @module-tag faults */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { edgeApps } from '../edge-app-statements.ts'
import { type AppHost, AppsOnHosts, type DeployedApp } from '../../../test/apps-on-hosts.ts'
import { eventually } from '../../../test/harness.ts'
import { queueReplacement } from './replacement-statements.ts'

describe('an app whose host is drained', () => {
  let world: AppsOnHosts
  let app: DeployedApp
  let host: AppHost
  let other: AppHost

  beforeEach(async () => {
    world = await AppsOnHosts.start(2)
    app = await world.deployed('site')
    host = (await world.hostOf(app)) as AppHost
    other = world.hosts.find((each) => each !== host) as AppHost
  })

  afterEach(async () => world.stop())

  const drain = async () => {
    await world.age()
    return world.operate('POST', `${host.id}/drain`)
  }
  const uncordon = async (which: AppHost) => world.operate('POST', `${which.id}/uncordon`)
  const cordon = async (which: AppHost) => world.operate('POST', `${which.id}/cordon`)

  it('is live elsewhere before it is removed there, at every moment', async () => {
    const over = new AbortController()
    const watched = (async () => {
      const seen = new Set<string>()
      while (!over.signal.aborted) {
        const [place] = await edgeApps(world.harness.pool, [app.id])
        const serving = place?.sandbox_ids[0] ?? ''
        const holder = world.hosts.find(({ agent }) => agent.state.sandboxes.get(serving)?.status === 'running')
        seen.add(holder === host ? 'host' : holder === other ? 'other' : 'none')
      }
      return [...seen]
    })()
    expect((await drain()).body).toMatchObject({ state: 'draining', drain: { left: 1, staying: 0 } })
    const { drain: ended, state } = await world.drained(host)
    over.abort()
    expect(await watched).toEqual(['host', 'other'])
    expect(state).toBe('cordoned')
    expect(ended).toMatchObject({ left: 0, moving: 0, moved: 1, failed: 0, staying: 0, stays: [] })
    expect(host.sandboxes).toEqual([])
    const [replacement] = await world.deploymentsOf(app)
    expect(replacement).toMatchObject({ status: 'live', cause: 'host_drained', from_agent: host.id })
    const { build_logs: log } = await world.over(app.id, replacement?.id ?? '', 'live')
    expect(log).toMatch(/^the host of the live version is drained: it is built on another one\n/)
    const details = { deployment_id: replacement?.id, cause: 'host_drained', from: host.id, to: other.id }
    expect(await world.entriesOf(app.id)).toEqual([
      { action: 'app.moved', workspace_id: world.alice.workspaceId, details },
    ])
  })

  it('loses its old versions there, which a rollback builds again', { tags: ['long'] }, async () => {
    await cordon(other)
    await world.deploy(app.id)
    await uncordon(other)
    await world.harness.pool.query('update app_deployments set drain_until = now() where drain_until is not null')
    await eventually(() => [...host.agent.state.sandboxes.values()].some(({ status }) => status === 'hibernated'))
    await drain()
    expect((await world.drained(host)).drain).toMatchObject({ moved: 1, staying: 0 })
    expect(host.sandboxes).toEqual([])
    const { build_logs: log, sandbox_id: sandbox } = await world.over(app.id, app.deployment, 'superseded')
    expect(sandbox).toBeNull()
    expect(log).toMatch(/its host was drained, so its sandbox was removed: a rollback builds it again\n$/)
    const { body } = await world.ask('POST', `/v1/apps/${app.id}/rollback`)
    await world.over(app.id, body.id, 'live')
    expect(await world.hostOf(app)).toBe(other)
  })

  it(
    'stays, with the reason, if it cannot be built, and leaves with the next drain',
    { tags: ['faults'] },
    async () => {
      void other.guest.fail('site', 'build', { exit: 1, stderr: 'no such branch' })
      await drain()
      const reason = 'it could not be built on another host: build failed with code 1: no such branch'
      const stays = [{ kind: 'app', id: app.id, workspace_id: world.alice.workspaceId, reason }]
      expect((await world.drained(host)).drain).toMatchObject({ moved: 0, failed: 1, staying: 1, stays })
      expect(await world.hostOf(app)).toBe(host)
      other.guest.heal('site')
      await drain()
      expect((await world.drained(host)).drain).toMatchObject({ moved: 1, failed: 0, staying: 0 })
      expect(await world.hostOf(app)).toBe(other)
    },
  )

  it('stays, without a deployment, if no other host can take it', { tags: ['long'] }, async () => {
    await cordon(other)
    await drain()
    const stays = [{ kind: 'app', id: app.id, reason: 'no other host has room for it' }]
    expect((await world.drained(host)).drain).toMatchObject({ failed: 1, staying: 1, stays })
    expect(await world.deploymentsOf(app)).toHaveLength(1)
    expect(await world.hostOf(app)).toBe(host)
  })

  it('stays if the drain is cancelled before the build begins or while it fails', { tags: ['long'] }, async () => {
    const building = other.guest.fail('site', 'build', 'hang')
    await drain()
    await building
    expect((await world.operate('GET', host.id)).body.drain).toMatchObject({ left: 1, moving: 1 })
    expect((await uncordon(host)).body).toMatchObject({ state: 'ready', drain: null })
    other.guest.stop()
    const [failed] = await world.deploymentsOf(app)
    await world.over(app.id, failed?.id ?? '', 'failed')
    await queueReplacement(world.harness.pool, randomUUID(), app.id, app.deployment, 'host_drained')
    await eventually(async () => (await world.deploymentsOf(app))[0]?.status === 'superseded')
    expect(await world.hostOf(app)).toBe(host)
    expect(await world.entriesOf(app.id)).toEqual([])
  })

  it(
    'leaves together with its sandboxes of the workspace, and with a deploy that is under way',
    { tags: ['long'] },
    async () => {
      const { body: sandbox } = await world.ask('POST', '/v1/sandboxes', { template: 'app', persistent: true })
      for (const each of world.hosts) void each.guest.fail('second', 'build', 'hang')
      const { body: second } = await world.ask('POST', '/v1/apps', {
        name: 'second',
        git_url: 'https://git.example.com/second',
        build_command: 'build-it',
      })
      const { body: deploy } = await world.ask('POST', `/v1/apps/${second.id}/deploys`)
      await world.over(second.id, deploy.id, 'building')
      await drain()
      await eventually(async () => (await world.hostOf(app)) === other)
      await world.ask('POST', `/v1/apps/${second.id}/deploys/${deploy.id}/cancel`)
      expect((await world.drained(host)).drain).toMatchObject({ failed: 0, staying: 0 })
      expect(host.sandboxes).toEqual([])
      expect((await world.ask('GET', `/v1/sandboxes/${sandbox.id}`)).status).toBe(200)
    },
  )
})
