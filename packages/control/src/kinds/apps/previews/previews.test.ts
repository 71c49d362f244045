import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { edgeApps } from '../edge-app-statements.ts'
import { FakeGitProvider } from '../../../test/fake-git-provider.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { MAX_PREVIEWS } from './preview-statements.ts'

const REPOSITORY = 'https://git.example.com/alices/site'
const [FIRST, SECOND] = ['1'.repeat(40), '2'.repeat(40)]

describe('previews of pull requests', () => {
  let harness: Harness
  let provider: FakeGitProvider
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant
  let app: string
  /** Milliseconds. Each event is newer than the one before, unless a test says otherwise. */
  let toldAtMs = Date.now()

  beforeAll(async () => {
    provider = await FakeGitProvider.start()
    harness = await Harness.start()
    // Without an agent, queued deployments stay queued.
    control = await harness.control([], { github: provider.settings })
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    await connect(alice, 1)
    await connect(bob, 2)
  })

  afterAll(async () => {
    await harness.stop()
    await provider.stop()
  })

  beforeEach(async () => {
    for (const { id } of (await as(alice, 'GET', '/v1/apps')).body) await as(alice, 'DELETE', `/v1/apps/${id}`)
    app = await create(alice)
  })

  const as = (tenant: Tenant, method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const previewsOf = async (id = app, tenant = alice) => (await as(tenant, 'GET', `/v1/apps/${id}/previews`)).body
  const commitsOf = async (id: string) =>
    (await as(alice, 'GET', `/v1/apps/${id}/deploys`)).body.map((row: { git_commit: string }) => row.git_commit)

  async function connect(tenant: Tenant, installation: number): Promise<void> {
    provider.installations.set(installation, { login: 'alices', createdAt: new Date() })
    const { body } = await as(tenant, 'GET', '/v1/github/connect')
    const state = new URL(body.url).searchParams.get('state')
    const path = `/v1/github/callback?installation_id=${installation}&state=${state}`
    expect((await fetch(control.url + path, { redirect: 'manual' })).status).toBe(302)
  }

  async function create(tenant: Tenant, fields: Record<string, unknown> = {}): Promise<string> {
    const body = { name: randomUUID(), git_url: `${REPOSITORY}.git`, preview_deploys: true, ...fields }
    return (await as(tenant, 'POST', '/v1/apps', body)).body.id
  }

  function event(action: string, { pull = {}, head = {}, ...fields }: Record<string, object | number> = {}) {
    toldAtMs += 1_000
    return {
      action,
      number: 7,
      pull_request: {
        state: action === 'closed' ? 'closed' : 'open',
        updated_at: new Date(toldAtMs).toISOString(),
        head: { ref: 'fix/it', sha: FIRST, repo: { id: 42 }, ...(head as object) },
        ...(pull as object),
      },
      repository: { id: 42, clone_url: `${REPOSITORY}.git`, html_url: REPOSITORY },
      installation: { id: 1 },
      ...fields,
    }
  }
  const deliver = async (body: unknown, id?: string) => {
    const { status } = await provider.deliver(control.url, 'pull_request', body, id)
    expect(status).toBe(200)
  }

  it('come with a pull request, follow it, and go with it', async () => {
    await as(alice, 'PATCH', `/v1/apps/${app}`, { port: 8080, env: { KEY: 'secret' } })
    const opened = randomUUID()
    const first = event('opened')
    for (const _time of [1, 2]) await deliver(first, opened)
    const [preview, ...others] = await previewsOf()
    expect(others).toEqual([])
    expect(preview).toMatchObject({
      preview_of: app,
      pull_number: 7,
      git_branch: 'fix/it',
      url: `http://${preview.id}.localhost:8081`,
      status: 'building',
      port: 8080,
      env: { KEY: '***' },
      max_instances: 1,
      auto_deploy: false,
      preview_deploys: false,
    })
    expect(await commitsOf(preview.id)).toEqual([FIRST])
    expect(await edgeApps(harness.pool, [preview.id])).toMatchObject([
      { id: preview.id, state: 'building', port: 8080 },
    ])
    expect((await as(alice, 'GET', '/v1/apps')).body.map(({ id }: { id: string }) => id)).toEqual([app])

    await as(alice, 'PATCH', `/v1/apps/${app}`, { port: 9090 })
    await deliver(event('synchronize', { head: { sha: SECOND } }))
    expect(await commitsOf(preview.id)).toEqual([SECOND, FIRST])
    expect(await previewsOf()).toMatchObject([{ id: preview.id, port: 9090 }])

    await deliver(event('closed'))
    expect(await previewsOf()).toEqual([])
    expect((await as(alice, 'GET', `/v1/apps/${preview.id}`)).status).toBe(404)
    await eventually(async () => {
      const { rows } = await harness.pool.query('select from apps where id = $1', [preview.id])
      return rows.length === 0
    })
    await deliver(event('reopened'))
    expect(await previewsOf()).toMatchObject([{ pull_number: 7 }])
  })

  it.each([
    ['a fork', event('opened', { head: { repo: { id: 43 } } })],
    ['a fork that is gone', event('opened', { head: { repo: null } as never })],
    ['another action', event('labeled')],
    ['one that is closed by now', event('synchronize', { pull: { state: 'closed' } })],
    [
      'a repository of another name',
      event('opened', { repository: { id: 42, clone_url: `${REPOSITORY}2`, html_url: '' } }),
    ],
    ['an installation that nobody has', event('opened', { installation: { id: 3 } })],
    ['an installation of somebody else', event('opened', { installation: { id: 2 } })],
    ['a commit that is none', event('opened', { head: { sha: '--upload-pack=x' } })],
    ['less than a pull request', { action: 'opened' }],
  ])('are not made for %s', async (_what, body) => {
    const others = [await create(alice, { preview_deploys: false }), await create(bob, { preview_deploys: false })]
    await deliver(body)
    expect(await previewsOf()).toEqual([])
    expect([await previewsOf(others[0]), await previewsOf(others[1], bob)]).toEqual([[], []])
  })

  it('follow the newest event, in whichever order events arrive', async () => {
    const [opened, late, newest] = [
      event('opened'),
      event('synchronize'),
      event('synchronize', { head: { sha: SECOND } }),
    ]
    for (const each of [opened, newest, late]) await deliver(each)
    const [{ id }] = await previewsOf()
    expect(await commitsOf(id)).toEqual([SECOND, FIRST])
    const before = event('synchronize')
    await deliver(event('closed'))
    await deliver(before)
    expect(await previewsOf()).toEqual([])
  })

  it('are so many at the same time and no more', async () => {
    const numbers = Array.from({ length: MAX_PREVIEWS + 3 }, (_each, at) => at + 1)
    await Promise.all(numbers.map((number) => deliver(event('opened', { number }))))
    expect(await previewsOf()).toHaveLength(MAX_PREVIEWS)
    const { pull_number: number } = (await previewsOf())[0]
    await deliver(event('synchronize', { number, head: { sha: SECOND } }))
    expect(await commitsOf((await previewsOf())[0].id)).toEqual([SECOND, FIRST])
    await deliver(event('closed', { number }))
    await deliver(event('synchronize', { number: 99 }))
    expect((await previewsOf())[0].pull_number).toBe(99)
  })

  it('go when their app wants none any more, and with it', async () => {
    await deliver(event('opened'))
    const [{ id }] = await previewsOf()
    const refused = await as(alice, 'PATCH', `/v1/apps/${id}`, { port: 1 })
    expect([refused.status, refused.body.detail]).toEqual([409, 'a preview has the settings of its app'])
    expect((await as(bob, 'GET', `/v1/apps/${app}/previews`)).status).toBe(404)
    expect((await as(bob, 'DELETE', `/v1/apps/${id}`)).status).toBe(404)
    await as(alice, 'PATCH', `/v1/apps/${app}`, { preview_deploys: false })
    expect(await previewsOf()).toEqual([])
    await deliver(event('synchronize'))
    expect(await previewsOf()).toEqual([])
    await as(alice, 'PATCH', `/v1/apps/${app}`, { preview_deploys: true })
    await deliver(event('synchronize'))
    expect(await previewsOf()).toHaveLength(1)
    expect((await as(alice, 'DELETE', `/v1/apps/${(await previewsOf())[0].id}`)).status).toBe(204)
    expect(await previewsOf()).toEqual([])
  })

  it('are never left without an app, also if the app is deleted while a preview is created', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await create(alice)
      const [{ status }] = await Promise.all([as(alice, 'DELETE', `/v1/apps/${id}`), deliver(event('opened'))])
      expect(status).toBe(204)
      const { rows } = await harness.pool.query('select id from apps where id = $1 or parent_id = $1', [id])
      expect(rows).toEqual([])
    }
  })
})
