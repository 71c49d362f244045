// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { createHmac, randomUUID } from 'node:crypto'
import { type ClientRequest, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeGitProvider } from '../../../test/fake-git-provider.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const REPOSITORY = 'https://git.example.com/alices/repository-1'
const COMMIT = 'c'.repeat(40)

describe('git provider', () => {
  let harness: Harness
  let provider: FakeGitProvider
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    provider = await FakeGitProvider.start()
    harness = await Harness.start()
    // Without an agent, queued deployments stay queued.
    control = await harness.control([], { github: provider.settings })
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    provider.installations.set(1, { login: 'alices', createdAt: new Date() })
  })

  afterAll(async () => {
    await harness.stop()
    await provider.stop()
  })

  const as = (tenant: Tenant, method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const stateOf = async (tenant: Tenant, name = 'gitprovider') => {
    const { status, body } = await as(tenant, 'GET', `/v1/${name}/connect`)
    const url = new URL(body.url)
    expect([status, url.origin + url.pathname]).toEqual([
      200,
      'https://git.example.com/apps/offshoot-test/installations/new',
    ])
    return url.searchParams.get('state') ?? ''
  }
  const callback = async (id: number | string, state: string) => {
    const path = `/v1/gitprovider/callback?installation_id=${id}&setup_action=install&state=${encodeURIComponent(state)}`
    const answer = await fetch(control.url + path, { redirect: 'manual' })
    return { status: answer.status, body: await answer.text() }
  }

  it('is connected by a state that is good for one callback', async () => {
    const state = await stateOf(alice)
    expect((await callback(1, state)).status).toBe(302)
    const again = await callback(1, state)
    expect([again.status, JSON.parse(again.body)]).toEqual([400, { error: 'state is unknown, used or too old' }])
    const list = [{ installation_id: 1, account_login: 'alices', account_type: 'Organization' }]
    for (const name of ['gitprovider', 'github'])
      expect((await as(alice, 'GET', `/v1/${name}/installations`)).body).toMatchObject(list)
    expect((await as(bob, 'GET', '/v1/gitprovider/installations')).body).toEqual([])
  })

  it.each(['', 'x', '-1', '1e3'])('takes no callback with the installation %j', async (id) => {
    expect((await callback(id, 'any')).status).toBe(400)
  })

  it('records an installation only for the workspace that began to connect', async () => {
    expect((await callback(1, await stateOf(bob))).status).toBe(409)
    provider.installations.set(2, { login: 'carols', createdAt: new Date(Date.now() - 86_400_000) })
    for (const id of [2, 3]) expect((await callback(id, await stateOf(bob))).status).toBe(400)
    expect((await as(bob, 'GET', '/v1/gitprovider/installations')).body).toEqual([])
  })

  it('answers 502 for what the provider should not have said', async () => {
    provider.installations.set(4, { login: 'daves', createdAt: null })
    const answer = await callback(4, await stateOf(bob))
    expect([answer.status, JSON.parse(answer.body)]).toEqual([502, { error: 'git provider unreachable' }])
  })

  it('lists the repositories of an installation to its own workspace', async () => {
    const { status, body } = await as(alice, 'GET', '/v1/github/repos?installation_id=1')
    expect([status, body.length]).toEqual([200, 130])
    expect(body[129]).toEqual({
      id: 130,
      name: 'repository-129',
      full_name: 'alices/repository-129',
      private: true,
      default_branch: 'main',
      clone_url: 'https://git.example.com/alices/repository-129.git',
      html_url: 'https://git.example.com/alices/repository-129',
    })
    for (const [tenant, query, wanted] of [
      [bob, '?installation_id=1', 404],
      [alice, '?installation_id=9', 404],
      [alice, '', 400],
      [alice, '?installation_id=x', 400],
    ] as const)
      expect((await as(tenant, 'GET', `/v1/github/repos${query}`)).status).toBe(wanted)
  })

  it('opens repositories for the workspace that is connected, and for no other', async () => {
    const of = (tenant: Tenant, gitUrl: string) =>
      control.control.gitCredentials.of({ workspace_id: tenant.workspaceId as never, git_url: gitUrl })
    const credential = (await of(alice, `${REPOSITORY}.git`)) ?? ''
    expect(credential.startsWith('x-access-token:')).toBe(true)
    expect(provider.opens(credential.slice('x-access-token:'.length), 1)).toBe(true)
    // The token is used in a guest, whose root user is the tenant.
    expect(provider.scopeOf(credential.slice('x-access-token:'.length))).toEqual({
      repositories: [REPOSITORY.split('/').at(-1)],
      permissions: { contents: 'read' },
    })
    provider.hidden.add('not-installed')
    expect(await of(alice, REPOSITORY.replace(/[^/]+$/, 'not-installed'))).toBe(null)
    for (const [tenant, url] of [
      [bob, REPOSITORY],
      [alice, 'https://git.example.com/carols/x'],
      [alice, 'https://other.example.com/alices/repository-1'],
      [alice, 'https://git.example.com.evil.example/alices/x'],
    ] as const)
      expect(await of(tenant, url)).toBe(null)
  })

  describe('webhook', () => {
    const push = (fields: Record<string, unknown> = {}) => ({
      ref: 'refs/heads/main',
      after: COMMIT,
      deleted: false,
      forced: false,
      repository: { clone_url: `${REPOSITORY}.git`, html_url: REPOSITORY },
      installation: { id: 1 },
      commits: [{ added: ['web/a.js'], modified: [], removed: [] }],
      ...fields,
    })
    const deliver = (body: unknown, { event = 'push', id = '', secret = '', name = 'github' } = {}) => {
      const raw = typeof body === 'string' ? body : JSON.stringify(body)
      const key = secret === '' ? provider.settings.webhook_secret : secret
      const signature = `sha256=${createHmac('sha256', key).update(raw).digest('hex')}`
      const headers = {
        'x-github-event': event,
        'x-github-delivery': id === '' ? randomUUID() : id,
        'x-hub-signature-256': signature,
      }
      return call(control.url, 'POST', `/v1/webhooks/${name}`, { body: raw, headers })
    }
    const create = async (tenant: Tenant, fields: Record<string, unknown> = {}) => {
      const body = { name: randomUUID(), git_url: `${REPOSITORY}.git`, auto_deploy: true, ...fields }
      return (await as(tenant, 'POST', '/v1/apps', body)).body.id as string
    }
    const commitsOf = async (tenant: Tenant, id: string) =>
      (await as(tenant, 'GET', `/v1/apps/${id}/deploys`)).body.map((row: { git_commit: string }) => row.git_commit)

    it('deploys exactly the pushed commit, once for each delivery, to the apps that want it', async () => {
      const wanting = await create(alice, { git_url: `${REPOSITORY.toUpperCase().replace('HTTPS', 'https')}/` })
      const others = [
        [alice, await create(alice, { auto_deploy: false })],
        [alice, await create(alice, { git_branch: 'next' })],
        [alice, await create(alice, { git_url: `${REPOSITORY}0.git` })],
        [alice, await create(alice, { root_directory: 'api' })],
        [bob, await create(bob)],
      ] as const
      const folder = await create(alice, { root_directory: './web/' })
      const id = randomUUID()
      for (const name of ['github', 'gitprovider', 'github'])
        expect(await deliver(push(), { id, name })).toMatchObject({ status: 200, body: { ok: true } })
      expect([await commitsOf(alice, wanting), await commitsOf(alice, folder)]).toEqual([[COMMIT], [COMMIT]])
      for (const [tenant, app] of others) expect(await commitsOf(tenant, app)).toEqual([])
      await deliver(push({ after: 'd'.repeat(40), forced: true, commits: [] }))
      expect(await commitsOf(alice, wanting)).toEqual(['d'.repeat(40), COMMIT])
    })

    it.each([
      ['a deleted branch', push({ deleted: true, after: '0'.repeat(40) }), 'push'],
      ['a tag', push({ ref: 'refs/tags/main' }), 'push'],
      ['an installation that nobody has', push({ installation: { id: 5 } }), 'push'],
      ['another event', push(), 'ping'],
      ['less than a push has', { ref: 'refs/heads/main' }, 'push'],
    ])('deploys nothing for %s', async (_what, body, event) => {
      const app = await create(alice)
      expect((await deliver(body, { event })).status).toBe(200)
      expect(await commitsOf(alice, app)).toEqual([])
    })

    it('takes nothing that is not signed with its secret', async () => {
      const app = await create(alice)
      const refused = await deliver(push(), { secret: 'another' })
      expect([refused.status, refused.body]).toEqual([401, { error: 'unauthorized', detail: 'invalid signature' }])
      for (const headers of [{}, { 'x-hub-signature-256': 'sha256=' }, { 'x-hub-signature-256': 'x' }])
        expect((await call(control.url, 'POST', '/v1/webhooks/github', { body: push(), headers })).status).toBe(401)
      for (const raw of ['{', '[]', '5', 'null'])
        expect(await deliver(raw)).toMatchObject({ status: 400, body: { error: 'invalid json' } })
      expect(await commitsOf(alice, app)).toEqual([])
    })

    it('refuses a body before it is sent: an unsigned one, and a large one while others are held', async () => {
      const begun: ClientRequest[] = []
      const begin = (headers: Record<string, string>): Promise<number | undefined> => {
        const asked = request(`${control.url}/v1/webhooks/github`, { method: 'POST', headers })
        begun.push(asked)
        asked.on('error', () => undefined)
        asked.flushHeaders()
        return new Promise((resolve) => asked.once('response', ({ statusCode }) => resolve(statusCode)))
      }
      const large = { 'content-length': `${2 * 1024 * 1024}` }
      expect(await begin(large)).toBe(401)
      const signed = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }
      // One of them is refused at once; the others wait for their bodies.
      const refused = await Promise.race(Array.from({ length: 5 }, () => begin({ ...large, ...signed })))
      expect(refused).toBe(429)
      // A body without a length may be just as large.
      expect(await begin({ 'transfer-encoding': 'chunked', ...signed })).toBe(429)
      expect((await deliver(push({ ref: 'refs/heads/small' }))).status).toBe(200)
      for (const each of begun) each.destroy()
    })

    it('forgets an installation that was taken away', async () => {
      await deliver({ action: 'deleted', installation: { id: 1 } }, { event: 'installation' })
      expect((await as(alice, 'GET', '/v1/github/installations')).body).toEqual([])
    })
  })

  it('is let go of by its own workspace', async () => {
    provider.installations.set(4, { login: 'bobs', createdAt: new Date() })
    expect((await callback(4, await stateOf(bob, 'github'))).status).toBe(302)
    for (const [tenant, id, wanted] of [
      [alice, '4', 404],
      [bob, 'x', 404],
      [bob, '4', 204],
      [bob, '4', 404],
    ] as const)
      expect((await as(tenant, 'DELETE', `/v1/gitprovider/installations/${id}`)).status).toBe(wanted)
  })

  it('that is not set up answers 503', async () => {
    const bare = await harness.control([])
    const carol = await harness.tenant(bare, 'carol')
    for (const path of ['/v1/github/connect', '/v1/gitprovider/callback?installation_id=1&state=x'])
      expect((await call(bare.url, 'GET', path, { token: carol.key })).body).toEqual({
        error: 'no git provider is configured',
      })
    expect((await call(bare.url, 'POST', '/v1/webhooks/gitprovider', { body: {} })).status).toBe(503)
    expect((await call(bare.url, 'GET', '/v1/github/installations', { token: carol.key })).body).toEqual([])
  })
})
