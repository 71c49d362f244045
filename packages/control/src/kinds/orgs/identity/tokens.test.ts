// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FAILURES_AT_ONCE } from './failed-attempts.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const UNKNOWN = { status: 404, body: { error: 'not found' } }
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('API keys, by their routes', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let other: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    other = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const make = (body: unknown, token = alice.jwt) => call(control.url, 'POST', '/v1/me/tokens', { token, body })
  const list = (token: string) => call(control.url, 'GET', '/v1/me/tokens', { token })
  const revoke = (prefix: string, token: string) => call(control.url, 'DELETE', `/v1/me/tokens/${prefix}`, { token })
  const use = (token: string, url = control.url) => call(url, 'GET', '/v1/sandboxes', { token })
  async function addMember(tenant: Tenant, role: string, name: string): Promise<string> {
    const member = await harness.tenant(control, name)
    await harness.pool.query(
      `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, $3, now())`,
      [tenant.workspaceId, member.userId, role],
    )
    await call(control.url, 'POST', '/v1/me/current-org', { token: member.jwt, body: { org_id: tenant.workspaceId } })
    return member.jwt
  }

  it('are made, shown once, listed without their secret, and open what they should', async () => {
    const { status, body, headers } = await make({ name: 'laptop' })
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      token: expect.stringMatching(/^ofs_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/),
      prefix: body.token.slice(0, 12),
      name: 'laptop',
      label: 'laptop',
      scopes: null,
      created_at: expect.stringMatching(TIME),
      expires_at: null,
      last_used_at: null,
      created_by: alice.userId,
    })
    expect((await use(body.token)).status).toBe(200)
    const { token, ...shown } = body
    const listed = await eventually(async () => {
      const found = (await list(alice.jwt)).body.find((each: { prefix: string }) => each.prefix === body.prefix)
      return found.last_used_at === null ? null : found
    })
    expect(listed).toEqual({ ...shown, last_used_at: expect.stringMatching(TIME) })
    expect(JSON.stringify(await list(alice.jwt))).not.toContain(token)
  })

  it('take a label for a name, and end on the day asked for', async () => {
    const { body } = await make({ label: 'ci', expires_in_days: 30 })
    expect(body).toMatchObject({ name: 'ci', label: 'ci' })
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(30 * 86_400_000)
    await harness.pool.query(`update api_keys set expires_at = now() where prefix = $1`, [body.prefix])
    expect(await use(body.token)).toMatchObject({ status: 401, body: { detail: 'invalid api token' } })
    expect((await revoke(body.prefix, alice.jwt)).status).toBe(204)
  })

  it.each([
    [{}, 'name is required'],
    [{ name: '' }, 'name is required'],
    [{ name: '  ' }, 'name is required'],
    [{ name: 7 }, 'name must be a string'],
    [{ label: [] }, 'label must be a string'],
    [{ name: 'x'.repeat(101) }, 'name must be at most 100 characters'],
    [{ name: 'a\0' }, 'name must not contain NUL or half a surrogate pair'],
    [{ name: 'a', expires_in_days: 0 }, 'expires_in_days must be >= 1'],
    [{ name: 'a', expires_in_days: 3651 }, 'expires_in_days must be <= 3650'],
    [{ name: 'a', expires_in_days: '1' }, 'expires_in_days must be an integer'],
    [{ name: 'a', scopes: [] }, 'scopes must not be empty'],
    [{ name: 'a', scopes: 'sandboxes:read' }, 'scopes must be an array'],
    ['[]', 'invalid json'],
  ])('are refused for %j', async (body, error) => {
    expect(await make(body)).toMatchObject({ status: 400, body: { error } })
  })

  it('are refused with a scope that is none, and take no field that is not for callers', async () => {
    expect((await make({ name: 'a', scopes: ['sandboxes:own'] })).body.error).toContain('scopes must be among')
    const { body } = await make({ name: 'a', workspace_id: bob.workspaceId, created_by: bob.userId, prefix: 'ofs_x' })
    expect(body).toMatchObject({ created_by: alice.userId, prefix: expect.stringMatching(/^ofs_.{8}$/) })
    expect((await list(bob.jwt)).body.map((each: { prefix: string }) => each.prefix)).not.toContain(body.prefix)
  })

  it('are for tokens of users to make, list and revoke, not for keys', async () => {
    for (const answer of [
      await make({ name: 'a' }, alice.key),
      await list(alice.key),
      await revoke('ofs_12345678', alice.key),
    ]) {
      expect(answer).toMatchObject({ status: 401, body: { error: 'unauthorized', detail: 'jwt required' } })
    }
  })

  it('end in every process within a second of being revoked, once, and by whom they belong to', async () => {
    const { body } = await make({ name: 'short' })
    expect((await use(body.token)).status).toBe(200)
    expect((await use(body.token, other.url)).status).toBe(200)
    for (const prefix of ['ofs_00000000', 'nonsense', body.prefix.toLowerCase() + 'x', '%00']) {
      expect(await revoke(prefix, alice.jwt)).toMatchObject(UNKNOWN)
    }
    expect(await revoke(body.prefix, bob.jwt)).toMatchObject(UNKNOWN)
    const answers = await Promise.all([1, 2, 3].map(() => revoke(body.prefix, alice.jwt)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404, 404])
    const revokedAtMs = performance.now()
    expect((await use(body.token)).status).toBe(401)
    let passedAtMs = revokedAtMs
    await eventually(async () => {
      const askedAtMs = performance.now()
      const { status } = await use(body.token, other.url)
      if (status === 200) passedAtMs = askedAtMs
      return status === 401
    })
    expect(passedAtMs - revokedAtMs).toBeLessThan(1000)
    const { rows } = await harness.pool.query(
      'select action, actor_id, ip from audit_log where target = $1 order by created_at',
      [body.prefix],
    )
    expect(rows).toEqual([
      { action: 'token.created', actor_id: alice.userId, ip: '127.0.0.1' },
      { action: 'token.revoked', actor_id: alice.userId, ip: '127.0.0.1' },
    ])
  })

  it('end all at once with DELETE /v1/me/tokens, in every workspace, and only those of the caller', async () => {
    const carl = await harness.tenant(control, 'carl')
    await harness.pool.query(
      `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'member', now())`,
      [bob.workspaceId, carl.userId],
    )
    const headers = { 'x-offshoot-org': bob.workspaceId }
    const elsewhere = await call(control.url, 'POST', '/v1/me/tokens', {
      token: carl.jwt,
      headers,
      body: { name: 'elsewhere' },
    })
    for (const key of [carl.key, elsewhere.body.token]) expect((await use(key)).status).toBe(200)
    expect((await call(control.url, 'DELETE', '/v1/me/tokens', { token: carl.key })).status).toBe(401)
    expect((await call(control.url, 'DELETE', '/v1/me/tokens', { token: carl.jwt })).status).toBe(204)
    for (const key of [carl.key, elsewhere.body.token]) expect((await use(key)).status).toBe(401)
    expect((await use(bob.key)).status).toBe(200)
  })

  it('of others are for owners and admins to see and revoke', async () => {
    const member = await addMember(alice, 'member', 'mona')
    const admin = await addMember(alice, 'admin', 'adam')
    const [theirs, ours] = [(await make({ name: 'm' }, member)).body, (await make({ name: 'o' })).body]
    const seen = async (token: string) => (await list(token)).body.map(({ prefix }: { prefix: string }) => prefix)
    expect(await seen(member)).toEqual([theirs.prefix])
    expect(await seen(admin)).toEqual(expect.arrayContaining([theirs.prefix, ours.prefix]))
    expect(await revoke(ours.prefix, member)).toMatchObject(UNKNOWN)
    expect((await revoke(ours.prefix, admin)).status).toBe(204)
    expect((await revoke(theirs.prefix, admin)).status).toBe(204)
  })

  it('are at most as many as the workspace may have, however many are asked for at once', async () => {
    const carol = await harness.tenant(control, 'carol')
    await harness.pool.query(
      `insert into api_keys (prefix, hash, workspace_id, name)
       select 'ofs_fill' || lpad(n::text, 4, '0'), '', $1, 'fill' from generate_series(1, 997) n`,
      [carol.workspaceId],
    )
    const answers = await Promise.all(Array.from({ length: 8 }, () => make({ name: 'last' }, carol.jwt)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
    const refused = answers.filter(({ status }) => status !== 201)
    for (const { status, body } of refused) {
      expect({ status, body }).toEqual({ status: 429, body: { error: 'max tokens reached', max: 1000, active: 1000 } })
    }
  })

  describe('with scopes', () => {
    const scoped = async (...scopes: string[]) => (await make({ name: 'scoped', scopes })).body.token as string
    const forbidden = (scope: string) => ({
      status: 403,
      body: { error: 'insufficient scope', detail: `takes the scope ${scope}` },
    })

    it('open what the scopes say and nothing else', async () => {
      const reader = await scoped('sandboxes:read')
      expect((await use(reader)).status).toBe(200)
      const create = (token: string) =>
        call(control.url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })
      expect(await create(reader)).toMatchObject(forbidden('sandboxes:write'))
      expect(await call(control.url, 'GET', '/v1/templates', { token: reader })).toMatchObject(
        forbidden('templates:read'),
      )
      expect(await call(control.url, 'GET', '/v1/audit', { token: reader })).toMatchObject(forbidden('audit:read'))
      const writer = await scoped('sandboxes:write')
      const made = await create(writer)
      expect(made.status).toBe(201)
      expect(await use(writer)).toMatchObject(forbidden('sandboxes:read'))
      const terminal = `/v1/sandboxes/${made.body.id}/exec/pty?access_token=${reader}`
      expect(await call(control.url, 'GET', terminal)).toMatchObject(forbidden('sandboxes:write'))
      // Control checks the scope before the id, so that the answer does not reveal whether the sandbox exists.
      expect(await call(control.url, 'DELETE', `/v1/sandboxes/${made.body.id}`, { token: reader })).toMatchObject(
        forbidden('sandboxes:write'),
      )
      expect((await call(control.url, 'DELETE', `/v1/sandboxes/${made.body.id}`, { token: writer })).status).toBe(204)
    })
  })

  it('may do what the role of their maker allows, as it is now', async () => {
    const member = await addMember(alice, 'member', 'max')
    const { token } = (await make({ name: 'm' }, member)).body
    const audit = () => call(control.url, 'GET', '/v1/audit', { token })
    expect(await audit()).toMatchObject({
      status: 403,
      body: { error: 'forbidden', detail: 'takes the role owner or admin' },
    })
    await harness.pool.query(`update member set role = 'admin' where role = 'member'`)
    expect(await eventually(async () => (await audit()).status === 200)).toBe(true)
  })
})

describe('guessing keys', () => {
  let harness: Harness
  let control: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([])
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => harness.stop())

  it('gets slow, while keys in use still pass, and costs the database nothing', { tags: ['long'] }, async () => {
    const use = (token: string) => call(control.url, 'GET', '/v1/sandboxes', { token })
    expect((await use(alice.key)).status).toBe(200)
    const guess = (i: number) => use(`ofs_${String(i).padStart(8, '0')}_${'a'.repeat(32)}`)
    const answers = await Promise.all(Array.from({ length: FAILURES_AT_ONCE + 300 }, (_, i) => guess(i)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(FAILURES_AT_ONCE)
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0)
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.body).toEqual({ error: 'too many failed attempts' })
    expect(refused?.headers.has('retry-after')).toBe(false)
    expect((await use(alice.key)).status).toBe(200)
    // By now the bucket may have regained one failure.
    const others = await Promise.all(Array.from({ length: 300 }, () => use('not.a.token')))
    expect(others.map(({ status }) => status)).toContain(429)
    expect((await use(alice.jwt)).status).toBe(200)
  })
})
