/** Apps from git repositories: cloned, built, served and replaced in real guests behind the edge. */
import { FakeGitProvider } from '@offshoot/control/test/fake-git-provider'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appDependencyCases } from './setup/app-dependency-cases.ts'
import { appFaultCases, type Deployed } from './setup/app-fault-cases.ts'
import { appSiteCases } from './setup/app-site-cases.ts'
import { appPreviewCases, providerSettings } from './setup/app-preview-cases.ts'
import { GitHost } from './setup/git-host.ts'
import { type Answer, call } from './setup/http.ts'
import { nodeApp } from './setup/node-app.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'
import { Visitors } from './setup/visitors.ts'

/** Milliseconds for a deploy on an emulated CPU of a busy machine. */
const DEPLOY_MS = 120_000
/** Milliseconds to wait for an answer that may never arrive. */
const PAUSED_MS = 5_000
/** Visitor requests per second, few enough to leave CPU time for the build. */
const PER_SECOND = 40

describe('apps', () => {
  let git: GitHost
  let provider: FakeGitProvider
  let offshoot: Offshoot
  let app: { id: string; url: string; name_url: string }
  let first: Deployed

  beforeAll(async () => {
    git = await GitHost.start()
    provider = await FakeGitProvider.start()
    await git.commit('app', nodeApp('one'))
    offshoot = await Offshoot.start('apps', {
      templates: ['app'],
      env: { OFFSHOOT_EGRESS_ALLOW: git.exception },
      settings: providerSettings(provider, git),
    })
    const body = { name: 'app', git_url: git.urlOf('app'), env: { SECRET: 'known inside' } }
    app = (await offshoot.request('POST', '/v1/apps', { body })).body
  })

  afterAll(async () => {
    await offshoot?.destroy()
    await provider?.stop()
    await git?.stop()
  })

  /** The app's page as a visitor gets it, at either of its addresses. */
  async function visit(path = '/', url = app.url, headers = {}, signal?: AbortSignal): Promise<Answer> {
    const { host } = new URL(url)
    return call('GET', offshoot.credentials.edge_url + path, {
      headers: { host, ...headers },
      ...(signal && { signal }),
    })
  }
  const version = async () => JSON.parse((await visit()).text).version as string

  async function over(id: string, of = app.id): Promise<Deployed> {
    return until(
      'the deploy to be over',
      async () => {
        const { body } = await offshoot.request('GET', `/v1/apps/${of}/deploys/${id}`)
        return ['live', 'failed', 'superseded'].includes(body.status) ? (body as Deployed) : null
      },
      DEPLOY_MS,
      150,
    )
  }

  async function deploy(body: Record<string, unknown> = {}, of = app.id): Promise<Deployed> {
    const { status, body: row } = await offshoot.request('POST', `/v1/apps/${of}/deploys`, { body })
    expect([status, row.status, row.app_id]).toEqual([202, 'queued', of])
    return over(row.id, of)
  }

  const statusOf = async (sandbox: string) => (await offshoot.request('GET', `/v1/sandboxes/${sandbox}`)).body.status

  it('have an address before their first version, and say so until it serves', async () => {
    const page = await visit()
    expect([page.status, page.text.includes('No code deployed yet')]).toEqual([404, true])
    const json = await visit('/', app.name_url, { accept: 'application/json' })
    expect([json.status, json.body.error]).toEqual([404, 'no code deployed yet'])
    const proxied = await offshoot.request('GET', `/v1/apps/${app.id}/proxy/x`)
    expect([proxied.status, proxied.body]).toEqual([404, { error: 'no code deployed yet' }])
    expect((await offshoot.request('POST', `/v1/apps/${app.id}/rollback`)).status).toBe(409)
  })

  it('are built in a sandbox of their own and served at every address', async () => {
    const { body: row } = await offshoot.request('POST', `/v1/apps/${app.id}/deploys`)
    await until('the page of the first build', async () => (await visit()).status === 503)
    const follow = `/v1/apps/${app.id}/deploys/${row.id}/logs?follow=1`
    const followed = offshoot.request('GET', follow)
    first = await over(row.id)
    expect([first.status, first.error]).toEqual(['live', null])
    expect(JSON.parse((await visit('/a?b=c')).text)).toEqual({
      version: 'one',
      url: '/a?b=c',
      secret: 'known inside',
      built: { at: 'known inside' },
      addresses: '2',
    })
    expect(JSON.parse((await visit('/', app.name_url)).text).version).toBe('one')
    const proxied = await offshoot.request('GET', `/v1/apps/${app.id}/proxy/p/q?r=s`)
    expect([proxied.status, JSON.parse(proxied.text).url]).toEqual([200, '/p/q?r=s'])
    expect((await offshoot.request('GET', `/v1/apps/${app.id}`)).body).toMatchObject({
      status: 'running',
      active_deployment_id: first.id,
      env: { SECRET: '***' },
    })
    const log = (await followed).text
    expect(log).toMatch(/^data: ==> sandbox$/m)
    expect(log.endsWith('event: done\ndata: \n\n')).toBe(true)
    const lines = [...log.matchAll(/^data: (.+)$/gm)].map(([, line]) => line)
    expect(lines).toEqual(first.build_logs.split('\n').filter((line) => line !== ''))
    expect(lines).toContain('building one')
    const text = await offshoot.request('GET', `/v1/apps/${app.id}/deploys/${row.id}/logs`)
    expect([text.headers['content-type'], text.text]).toEqual(['text/plain; charset=utf-8', first.build_logs])
    const said = await offshoot.request('GET', `/v1/apps/${app.id}/runtime-logs`)
    expect(said.text).toContain('asked for /a?b=c\n')
  })

  it('own their sandboxes', async () => {
    const path = `/v1/sandboxes/${first.sandbox_id}`
    const { body } = await offshoot.request('GET', path)
    expect(body).toMatchObject({ managed_by: 'app', template: 'app', memory_mb: 4096, persistent: true })
    const refused = await offshoot.request('DELETE', path)
    expect([refused.status, refused.body]).toEqual([
      409,
      { error: 'managed sandbox: delete it from the feature that owns it (Databases or Apps)' },
    ])
  })

  it('are served by a second instance while they are asked for much', { tags: ['faults'] }, async () => {
    await offshoot.request('PATCH', `/v1/apps/${app.id}`, { body: { max_instances: 2 } })
    const served = new Set<string>()
    await until('another instance', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => visit('/slow/2000')))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      for (const { text } of answers) served.add(text)
      return served.size === 2
    })
    const { body } = await offshoot.request('GET', '/v1/sandboxes')
    expect(served).toEqual(new Set(body.map(({ id }: { id: string }) => `sbx-${id.slice(0, 8)}`)))
    const said = await offshoot.request('GET', `/v1/apps/${app.id}/runtime-logs`)
    expect(said.text.match(/asked for \/slow\/2000/g)?.length).toBeGreaterThan(12)
    // Scaling would disturb the following tests: on a busy machine every slow answer would start an instance.
    await offshoot.request('PATCH', `/v1/apps/${app.id}`, { body: { max_instances: 1 } })
  })

  it(
    'drop no request when another version takes over, and end WebSockets with 1012',
    { tags: ['faults'] },
    async () => {
      const { host } = new URL(app.url)
      const visitors = new Visitors({ url: offshoot.credentials.edge_url, host, perSecond: PER_SECOND, webSockets: 1 })
      await until('an open WebSocket', () => visitors.opens === 1)
      await git.commit('app', nodeApp('two'))
      // The following deploys avoid npm, which takes seconds of an emulated CPU each time.
      const commands = { build_command: 'echo {} > built.json', start_command: 'node server.js' }
      await offshoot.request('PATCH', `/v1/apps/${app.id}`, { body: commands })
      const second = await deploy()
      expect(await version()).toBe('two')
      await until('the end of the WebSocket', () => visitors.closes.length > 0)
      const sleeps = async () => (await statusOf(first.sandbox_id ?? '')) === 'hibernated'
      await until('the old version to sleep', sleeps, DEPLOY_MS)
      await visitors.stop()
      // There may be several closes, because the second instance ends meanwhile.
      expect(new Set(visitors.closes)).toEqual(new Set([1012]))
      const seen = [...visitors.seen.keys()].map((what) => /^{"version":"(\w+)"/.exec(what)?.[1] ?? what)
      expect(seen.toSorted((a, b) => a.localeCompare(b))).toEqual(['one', 'two'])
      const { body: rows } = await offshoot.request('GET', `/v1/apps/${app.id}/deploys`)
      expect(rows.map(({ id, status }: Deployed) => [id, status])).toEqual([
        [second.id, 'live'],
        [first.id, 'superseded'],
      ])
    },
  )

  it('go back to the version before by waking it', { tags: ['faults'] }, async () => {
    const { status, body } = await offshoot.request('POST', `/v1/apps/${app.id}/rollback`)
    expect(status).toBe(202)
    const back = await over(body.id)
    expect([back.status, back.git_commit, back.sandbox_id]).toEqual(['live', first.git_commit, first.sandbox_id])
    expect(await version()).toBe('one')
    expect(back.build_logs).not.toContain('clone')
    const unknown = await offshoot.request('POST', `/v1/apps/${app.id}/rollback`, { body: { deployment_id: app.id } })
    expect(unknown.status).toBe(404)
    const live = await offshoot.request('POST', `/v1/apps/${app.id}/rollback`, { body: { deployment_id: back.id } })
    expect([live.status, live.body.error]).toEqual([409, 'no earlier deployment to roll back to'])
  })

  it('hibernate, and wake at a request', async () => {
    await offshoot.request('POST', `/v1/sandboxes/${first.sandbox_id}/hibernate`)
    expect((await offshoot.request('GET', `/v1/apps/${app.id}`)).body.status).toBe('hibernated')
    const answers = await Promise.all([visit(), visit(), visit()])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  })

  it('of a workspace that is paused say so with a page', async () => {
    await offshoot.request('POST', `/v1/sandboxes/${first.sandbox_id}/pause`)
    const page = await until('the pause to be known', async () => {
      // A request that arrives before the edge knows of the pause hangs with the paused server.
      const signal = AbortSignal.timeout(PAUSED_MS)
      const answer = await visit('/', app.url, { accept: 'application/json' }, signal).catch(() => null)
      return answer?.status === 503 ? answer : null
    })
    expect([page.headers['retry-after'], page.headers['x-service-app'], page.headers['content-type']]).toEqual([
      '3600',
      'suspended',
      'text/html; charset=utf-8',
    ])
    const proxied = await offshoot.request('GET', `/v1/apps/${app.id}/proxy/`)
    expect([proxied.status, proxied.headers['x-service-app']]).toEqual([503, 'suspended'])
    await offshoot.request('POST', `/v1/sandboxes/${first.sandbox_id}/resume`)
    expect((await visit()).status).toBe(200)
  })

  appDependencyCases(() => ({ git, offshoot, deploy, over, visit, version }))

  appSiteCases(() => ({ git, offshoot, deploy, over, visit, version }))

  appPreviewCases(() => ({ git, provider, offshoot, over, visit }))

  appFaultCases(() => ({ git, offshoot, app, deploy, over, visit, version }))

  it(
    'are deployed all the same when control is killed, and a deploy is cancelled when its owner says so',
    { tags: ['long'] },
    async () => {
      await offshoot.request('PATCH', `/v1/apps/${app.id}`, { body: { install_command: 'sleep 2' } })
      const path = `/v1/apps/${app.id}/deploys`
      const { body: row } = await offshoot.request('POST', path)
      const at = (id: string, step: string) =>
        until(
          'the step',
          async () => (await offshoot.request('GET', `${path}/${id}`)).body.build_logs.includes(step),
          DEPLOY_MS,
        )
      await at(row.id, '==> install')
      await offshoot.killService('control')
      const resumed = await over(row.id)
      expect([resumed.status, resumed.error]).toEqual(['live', null])
      expect(resumed.build_logs).toContain('the service was interrupted: from the beginning')
      await until('the version', async () => (await version()) === 'two')

      const { body: unwanted } = await offshoot.request('POST', path)
      await at(unwanted.id, '==> install')
      const { body: queued } = await offshoot.request('POST', path)
      const { body: newest } = await offshoot.request('POST', path)
      expect((await over(queued.id)).error).toBe('a newer deploy took its place')
      for (const { id } of [newest, unwanted])
        expect((await offshoot.request('POST', `${path}/${id}/cancel`)).status).toBe(202)
      for (const { id } of [newest, unwanted])
        expect(await over(id)).toMatchObject({ status: 'failed', error: 'cancelled', sandbox_id: null })
      expect((await offshoot.request('POST', `${path}/${unwanted.id}/cancel`)).status).toBe(409)
      expect(await version()).toBe('two')
    },
  )

  it('leave nothing behind when they are deleted', async () => {
    expect((await offshoot.request('DELETE', `/v1/apps/${app.id}`)).status).toBe(204)
    expect((await offshoot.request('GET', '/v1/sandboxes')).body).toEqual([])
    expect(await offshoot.virtualMachines()).toEqual([])
    await until('the address to be nobody’s', async () => (await visit()).status === 404)
    expect((await visit()).text).not.toContain('No code deployed yet')
  })
})
