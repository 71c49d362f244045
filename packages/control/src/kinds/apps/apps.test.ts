import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { MAX_APPS } from './model/app-statements.ts'

const GIT_URL = 'https://git.example.com/alice/site.git'

describe('apps', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start({ templates: ['base', 'app'] })
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const as = (tenant: Tenant, method: string, path: string, body?: unknown, headers = {}) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }), headers })
  const create = (body: Record<string, unknown> = {}, tenant = alice) =>
    as(tenant, 'POST', '/v1/apps', { git_url: GIT_URL, name: randomUUID(), ...body })

  it('are created with an address and their defaults, and read back without their secrets', async () => {
    const env = { TOKEN: 'secret-of-alice', EMPTY: '' }
    const { status, body } = await create({ name: 'My site', env, cpu: 64, memory_mb: 1 })
    expect(status).toBe(201)
    const { id, created_at, updated_at, ...rest } = body
    expect(rest).toEqual({
      name: 'My site',
      git_url: GIT_URL,
      git_branch: 'main',
      framework: null,
      runtime: null,
      install_command: null,
      build_command: null,
      start_command: null,
      root_directory: null,
      env: { TOKEN: '***', EMPTY: '***' },
      port: 3000,
      cpu: 1,
      memory_mb: 4096,
      max_instances: 1,
      auto_deploy: false,
      preview_deploys: false,
      preview_of: null,
      pull_number: null,
      idle_timeout_seconds: 600,
      visibility: 'public',
      url: `http://${id}.localhost:8081`,
      name_url: 'http://my-site-alice.localhost:8081',
      status: 'created',
      active_deployment_id: null,
    })
    expect([created_at, updated_at]).toEqual([
      expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
    ])
    expect((await as(alice, 'GET', `/v1/apps/${id}`)).body).toEqual(body)
    expect((await as(alice, 'GET', '/v1/apps')).body).toEqual([body])
    const { rows } = await harness.pool.query('select env from apps where id = $1', [id])
    expect(rows[0].env.includes('secret-of-alice')).toBe(false)
  })

  it.each([
    [{}, 'git_url is required'],
    [{ name: 'x' }, 'git_url is required'],
    [{ git_url: '', name: 'x' }, 'git_url is required'],
    [{ git_url: null, name: 'x' }, 'git_url is required'],
    [{ git_url: GIT_URL }, 'name is required'],
    [{ git_url: GIT_URL, name: '' }, 'name is required'],
    [{ git_url: GIT_URL, name: 7 }, 'name must be a string'],
    [{ git_url: 7, name: 'x' }, 'git_url must be a string'],
    [{ git_url: GIT_URL, name: 'x'.repeat(65) }, 'name must be at most 64 characters'],
    [{ git_url: GIT_URL, name: 'x', visibility: 'secret' }, 'visibility must be "public" or "private"'],
    [{ git_url: GIT_URL, name: 'x', env: ['A=1'] }, 'env must be a string map'],
    [{ git_url: GIT_URL, name: 'x', env: { A: 1 } }, 'env must be a string map'],
    [{ git_url: GIT_URL, name: 'x', env: 'A=1' }, 'env must be a string map'],
    [{ git_url: GIT_URL, name: 'x', env: { 'A B': '1' } }, 'env names must match [A-Za-z_][A-Za-z0-9_]*'],
    [{ git_url: GIT_URL, name: 'x', idle_timeout_seconds: 59 }, 'idle_timeout_seconds must be >= 60'],
    [{ git_url: GIT_URL, name: 'x', idle_timeout_seconds: '60' }, 'idle_timeout_seconds must be an integer'],
    [{ git_url: GIT_URL, name: 'x', port: 0 }, 'port must be >= 1'],
    [{ git_url: GIT_URL, name: 'x', port: 65_536 }, 'port must be <= 65535'],
    [{ git_url: GIT_URL, name: 'x', max_instances: 0 }, 'max_instances must be >= 1'],
    [{ git_url: GIT_URL, name: 'x', max_instances: 17 }, 'max_instances must be <= 16'],
    [{ git_url: GIT_URL, name: 'x', auto_deploy: 'yes' }, 'auto_deploy must be a boolean'],
    [{ git_url: GIT_URL, name: 'x', preview_deploys: 1 }, 'preview_deploys must be a boolean'],
    [
      { git_url: GIT_URL, name: 'x', framework: 'rails' },
      'framework must be one of nextjs, vite, node, static, python',
    ],
    [{ git_url: GIT_URL, name: 'x', root_directory: '../..' }, 'root_directory must not leave the repository'],
    [{ git_url: GIT_URL, name: 'x', start_command: 'a\0b' }, 'start_command must not contain NUL'],
  ])('refuse %j', async (body, error) => {
    const answer = await as(alice, 'POST', '/v1/apps', body)
    expect([answer.status, answer.body]).toEqual([400, { error }])
  })

  it.each([
    'file:///etc',
    'ext::sh -c touch% /tmp/x',
    '--upload-pack=touch /tmp/x',
    '-oProxyCommand=x',
    'ssh://git@example.com/x',
    'git@example.com:alice/site.git',
    '/srv/repository',
    'http://',
    'https://example.com/a b',
    'https://example.com/a\nb',
  ])('refuse to clone %j', async (url) => {
    const answer = await create({ git_url: url })
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining('git_url must')])
  })

  it.each(['-x', '--upload-pack=x', 'a..b', 'a b', '/a', 'a/', 'a//b', 'a.lock', 'a;b', '$(x)', 'a@{1}'])(
    'refuse the branch %j',
    async (branch) => {
      const answer = await create({ git_branch: branch })
      expect([answer.status, answer.body.error]).toEqual([400, 'git_branch must be a branch, a tag or a commit'])
    },
  )

  it('refuse a body that is no object', async () => {
    for (const body of ['{', '[]', '"x"'])
      expect((await as(alice, 'POST', '/v1/apps', body)).body).toEqual({ error: 'invalid json' })
  })

  it('have a name that is theirs in their workspace, and the host of the first who came', async () => {
    const { body: first } = await create({ name: 'twice' })
    expect(await create({ name: 'Twice' })).toMatchObject({ status: 409, body: { error: 'app already exists' } })
    const [one, two] = await Promise.all([create({ name: 'race' }), create({ name: 'race' })])
    expect([one.status, two.status].toSorted((a, b) => a - b)).toEqual([201, 409])
    // `twice-alice` of a workspace `x` and `twice` of a workspace `alice-x` would have the same host.
    const { body: other } = await create({ name: 'twice' }, bob)
    expect([first.name_url, other.name_url]).toEqual([
      'http://twice-alice.localhost:8081',
      'http://twice-bob.localhost:8081',
    ])
    const wide = await harness.tenant(control, 'x')
    const narrow = await harness.tenant(control, 'alice-x')
    const [a, b] = [await create({ name: 'same-alice' }, wide), await create({ name: 'same' }, narrow)]
    expect([a.body.name_url, b.body.name_url]).toEqual(['http://same-alice-x.localhost:8081', null])
  })

  it('are changed by what a patch names, and by nothing else', async () => {
    const { body: made } = await create({ env: { A: '1' }, build_command: 'make' })
    const patch = { git_branch: 'next', env: { B: '2' }, port: 8080, max_instances: 3, auto_deploy: true }
    const { status, body } = await as(alice, 'PATCH', `/v1/apps/${made.id}`, {
      ...patch,
      name: 'other',
      git_url: 'https://other.example.com',
      start_command: null,
    })
    expect(status).toBe(200)
    expect(body).toEqual({ ...made, ...patch, env: { B: '***' }, updated_at: body.updated_at })
    const emptied = await as(alice, 'PATCH', `/v1/apps/${made.id}`, { build_command: '' })
    expect(emptied.body.build_command).toBe(null)
    for (const [wrong, error] of [
      [{ env: [] }, 'env must be a string map'],
      [{ idle_timeout_seconds: 1 }, 'idle_timeout_seconds must be >= 60'],
      [{ port: 'x' }, 'port must be an integer'],
    ] as const)
      expect(await as(alice, 'PATCH', `/v1/apps/${made.id}`, wrong)).toMatchObject({ status: 400, body: { error } })
    expect((await as(alice, 'GET', `/v1/apps/${made.id}`)).body).toEqual(emptied.body)
  })

  it('are gone once deleted, their name free', async () => {
    const { body: made } = await create({ name: 'short-lived' })
    expect((await as(alice, 'DELETE', `/v1/apps/${made.id}`)).status).toBe(204)
    for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const)
      expect(await as(alice, method, `/v1/apps/${made.id}`, body)).toMatchObject({
        status: 404,
        body: { error: 'not found' },
      })
    const again = await create({ name: 'short-lived' })
    expect(again.body.name_url).toBe(made.name_url)
  })

  it('of others, unknown and malformed ids are not found', async () => {
    const { body: made } = await create()
    for (const id of [made.id, randomUUID(), 'x', '..%2f', made.id.toUpperCase()])
      for (const method of ['GET', 'PATCH', 'DELETE'])
        expect([
          id,
          method,
          (await as(bob, method, `/v1/apps/${id}`, method === 'PATCH' ? {} : undefined)).status,
        ]).toEqual([id, method, 404])
    expect((await as(alice, 'GET', `/v1/apps/${made.id}`)).status).toBe(200)
    expect((await as(bob, 'GET', '/v1/apps')).body.map(({ id }: { id: string }) => id)).not.toContain(made.id)
  })

  it('are created once by requests with one key', async () => {
    const body = { git_url: GIT_URL, name: 'once' }
    const headers = { 'idempotency-key': randomUUID() }
    const [one, two] = [
      await as(alice, 'POST', '/v1/apps', body, headers),
      await as(alice, 'POST', '/v1/apps', body, headers),
    ]
    expect([one.status, two.status, two.body.id]).toEqual([201, 201, one.body.id])
  })

  it('are not deployed without credit: the request is refused at once, and nothing is queued', async () => {
    const debtor = await harness.tenant(control, 'debtor')
    const { body: app } = await create({}, debtor)
    await harness.pool.query(
      `update workspace_accounts set plan_source = 'subscription', subscription_status = 'past_due' where workspace_id = $1`,
      [debtor.workspaceId],
    )
    expect(await as(debtor, 'POST', `/v1/apps/${app.id}/deploys`)).toMatchObject({
      status: 402,
      body: { error: 'subscription not active', subscription_status: 'past_due' },
    })
    expect((await as(debtor, 'GET', `/v1/apps/${app.id}/deploys`)).body).toEqual([])
  })

  it('are deployed once by requests with one key', async () => {
    const { body: app } = await create()
    const headers = { 'idempotency-key': randomUUID() }
    const path = `/v1/apps/${app.id}/deploys`
    const [one, two] = [await as(alice, 'POST', path, {}, headers), await as(alice, 'POST', path, {}, headers)]
    expect([one.status, two.status, two.body.id]).toEqual([202, 202, one.body.id])
    expect((await as(alice, 'GET', path)).body).toHaveLength(1)
  })

  it(`are at most ${MAX_APPS} of a workspace`, async () => {
    const many = await harness.tenant(control, 'many')
    await harness.pool.query(
      `insert into apps (id, workspace_id, name, git_url, git_branch, env, port, max_instances, auto_deploy, idle_timeout_seconds)
       select gen_random_uuid(), $1, 'app ' || n, 'https://x', 'main', '', 1, 1, false, 60 from generate_series(1, $2) n`,
      [many.workspaceId, MAX_APPS - 1],
    )
    const answers = await Promise.all(Array.from({ length: 12 }, async () => create({}, many)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array.from({ length: 11 }, () => 429),
    ])
    expect(await create({}, many)).toMatchObject({
      status: 429,
      body: { error: 'max apps reached', max: MAX_APPS, active: MAX_APPS },
    })
  })
})
