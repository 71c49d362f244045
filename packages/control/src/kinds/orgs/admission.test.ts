// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { decodeJwt, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mintApiKey } from './identity/api-key.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

describe('admission', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const list = (authorization?: string) =>
    call(control.url, 'GET', '/v1/sandboxes', { headers: authorization === undefined ? {} : { authorization } })
  const refusal = (detail: string) => ({ status: 401, body: { error: 'unauthorized', detail } })

  it.each([undefined, '', 'Basic YTpi', 'Bearer', 'Bearer ', 'ofs_12345678_x', 'Bearer a b'])(
    'answers %j with missing bearer token',
    async (authorization) => {
      expect(await list(authorization)).toMatchObject(refusal('missing bearer token'))
    },
  )

  it.each(['Bearer x', 'Bearer ofs_', `Bearer ofs_12345678_${'a'.repeat(32)}`, 'Bearer a.b.c', 'Bearer ofs_%00'])(
    'answers %j with invalid api token',
    async (authorization) => {
      expect(await list(authorization)).toMatchObject(refusal('invalid api token'))
    },
  )

  it('refuses the public half of a live key with another secret', async () => {
    const forged = alice.key.slice(0, -1) + (alice.key.endsWith('a') ? 'b' : 'a')
    expect((await list(`Bearer ${alice.key}`)).status).toBe(200)
    expect(await list(`Bearer ${forged}`)).toMatchObject(refusal('invalid api token'))
  })

  it.each(['expires_at', 'revoked_at'])('answers a key with %s in the past as an unknown one', async (column) => {
    const { key, prefix, hash } = mintApiKey()
    await harness.pool.query(
      `insert into api_keys (prefix, hash, workspace_id, name, ${column}) values ($1, $2, $3, 'old', now() - interval '1 s')`,
      [prefix, hash, alice.workspaceId],
    )
    expect(await list(`Bearer ${key}`)).toMatchObject(refusal('invalid api token'))
  })

  it('takes a key that is revoked while in use as an unknown one within a second', async () => {
    const { key, prefix, hash } = mintApiKey()
    const columns = 'prefix, hash, workspace_id, name'
    await harness.pool.query(`insert into api_keys (${columns}) values ($1, $2, $3, 'in use')`, [
      prefix,
      hash,
      alice.workspaceId,
    ])
    expect((await list(`Bearer ${key}`)).status).toBe(200)
    await harness.pool.query('update api_keys set revoked_at = now() where prefix = $1', [prefix])
    const revokedAtMs = performance.now()
    let passedAtMs = revokedAtMs
    const isRefused = async () => {
      const askedAtMs = performance.now()
      const { status } = await list(`Bearer ${key}`)
      if (status === 200) passedAtMs = askedAtMs
      return status === 401
    }
    expect(await eventually(isRefused)).toBe(true)
    expect(passedAtMs - revokedAtMs).toBeLessThan(1000)
  })

  it('refuses before it reads a body', async () => {
    const answer = await call(control.url, 'POST', '/v1/sandboxes', { body: '{' })
    expect(answer).toMatchObject(refusal('missing bearer token'))
  })

  it('notes when a key was used', async () => {
    await list(`Bearer ${bob.key}`)
    expect(
      await eventually(async () => {
        const { rows } = await harness.pool.query('select last_used_at from api_keys where prefix = $1', [
          bob.key.slice(0, 12),
        ])
        return rows[0]?.last_used_at !== null
      }),
    ).toBe(true)
  })

  describe('tokens', () => {
    it('open what a key opens', async () => {
      expect((await list(`bearer ${alice.jwt}`)).status).toBe(200)
    })

    it('are refused with a symmetric signature, none, another audience, another issuer, or past their time', async () => {
      const secret = new TextEncoder().encode('x'.repeat(32))
      const claims = { sub: alice.userId, org: alice.workspaceId }
      const symmetric = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'x' })
        .setIssuer(control.url)
        .setAudience('offshoot')
        .setExpirationTime('1h')
        .sign(secret)
      const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
      const unsigned = `${encode({ alg: 'none' })}.${encode({ ...claims, iss: control.url, aud: 'offshoot', exp: 9e9 })}.`
      const sign = (payload: object) =>
        control.control.accounts.api
          .signJWT({ body: { payload: { ...claims, ...payload } } })
          .then(({ token }) => token)
      const others = [
        await sign({ aud: 'other' }),
        await sign({ iss: 'https://other.example.com' }),
        await sign({ exp: 1 }),
      ]
      for (const token of [symmetric, unsigned, ...others, `${alice.jwt}x`]) {
        expect(await list(`Bearer ${token}`)).toMatchObject(refusal('invalid api token'))
      }
    })

    describe('that are narrowed', () => {
      const narrow = (body: unknown, token = alice.jwt) =>
        call(control.url, 'POST', '/v1/me/access-tokens', { token, body })
      const get = (path: string, token: string, headers = {}) => call(control.url, 'GET', path, { token, headers })

      it('act in one workspace, with the scopes asked for, for a short time', async () => {
        const made = await narrow({ scopes: ['sandboxes:read', 'sandboxes:read'], expires_in_seconds: 60 })
        expect(made.headers.get('cache-control')).toBe('no-store')
        expect(made).toMatchObject({ status: 201, body: { org_id: alice.workspaceId, scopes: ['sandboxes:read'] } })
        const { token } = made.body
        const claims = decodeJwt(token)
        expect(claims).toMatchObject({ aud: 'offshoot', only_org: alice.workspaceId, scope: 'sandboxes:read' })
        expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(60)
        expect(made.body.expires_at).toBe(new Date((claims.exp ?? 0) * 1000).toISOString())
        expect((await get('/v1/sandboxes', token)).status).toBe(200)
        expect((await get('/v1/me', token)).body).toMatchObject({ scopes: ['sandboxes:read'], org: { name: 'alice' } })
        const scopeMissing = (detail: string) => ({ status: 403, body: { error: 'insufficient scope', detail } })
        expect(await get('/v1/volumes', token)).toMatchObject(scopeMissing('takes the scope volumes:read'))
        expect(await call(control.url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })).toMatchObject(
          scopeMissing('takes the scope sandboxes:write'),
        )
      })

      it('never act in another workspace of the user, nor on the account', async () => {
        const two = await call(control.url, 'POST', '/v1/orgs', { token: alice.jwt, body: { name: 'alice two' } })
        expect(two.status).toBe(201)
        const orgId = two.body.id ?? two.body.org.id
        const { token } = (await narrow({ org_id: orgId })).body
        const me = (await get('/v1/me', token)).body
        expect([me.org.id, me.orgs.length, me.scopes]).toEqual([orgId, 1, ['*']])
        expect((await get('/v1/sandboxes', token)).status).toBe(200)
        expect((await get('/v1/sandboxes', token, { 'x-offshoot-org': alice.workspaceId })).status).toBe(404)
        for (const [method, path, body] of [
          ['POST', '/v1/me/tokens', { name: 'x' }],
          ['GET', '/v1/me/tokens'],
          ['DELETE', '/v1/me/tokens'],
          ['POST', '/v1/me/current-org', { org_id: alice.workspaceId }],
          ['POST', '/v1/me/access-tokens', {}],
          ['POST', '/v1/orgs', { name: 'y' }],
          ['DELETE', `/v1/orgs/${orgId}`],
        ] as const) {
          expect(await call(control.url, method, path, { token, body })).toMatchObject({
            status: 403,
            body: { detail: 'takes a token that is not narrowed' },
          })
        }
        await harness.pool.query('delete from member where "organizationId" = $1', [orgId])
        expect(await get('/v1/sandboxes', token)).toMatchObject(refusal('invalid api token'))
      })

      it('are made by users for their own workspaces only', async () => {
        expect((await narrow({ org_id: bob.workspaceId })).status).toBe(404)
        expect((await narrow({ org_id: 'nonsense' })).status).toBe(404)
        expect(await narrow({}, alice.key)).toMatchObject(refusal('jwt required'))
        for (const [body, error] of [
          [{ scopes: [] }, 'scopes must not be empty'],
          [{ scopes: 'sandboxes:read' }, 'scopes must be an array'],
          [{ scopes: ['sandboxes:own'] }, /^scopes must be among/],
          [{ expires_in_seconds: 59 }, 'expires_in_seconds must be >= 60'],
          [{ expires_in_seconds: 3601 }, 'expires_in_seconds must be <= 3600'],
          [{ org_id: 7 }, 'org_id must be a string'],
        ] as const) {
          const answer = await narrow(body)
          expect(answer.status).toBe(400)
          expect(answer.body.error).toEqual(typeof error === 'string' ? error : expect.stringMatching(error))
        }
      })

      it('are refused with a restriction that control does not know', async () => {
        const { accounts } = control.control
        for (const payload of [{ scope: 'sandboxes:own' }, { scope: '' }, { scope: 7 }, { only_org: 'x' }]) {
          const { token } = await accounts.api.signJWT({ body: { payload: { sub: alice.userId, ...payload } } })
          expect(await get('/v1/sandboxes', token)).toMatchObject(refusal('invalid api token'))
        }
      })
    })

    it('are all that opens /v1/me', async () => {
      expect(await call(control.url, 'GET', '/v1/me', { token: alice.key })).toMatchObject(refusal('jwt required'))
      expect(await call(control.url, 'GET', '/v1/me')).toMatchObject(refusal('missing bearer token'))
      const { status, body } = await call(control.url, 'GET', '/v1/me', { token: alice.jwt })
      const org = { id: alice.workspaceId, slug: 'alice', name: 'alice', role: 'owner', plan: 'self-hosted' }
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          user: { id: alice.userId, email: 'alice@example.com', name: 'alice' },
          org,
          orgs: [org],
          permissions: expect.arrayContaining(['workspace:delete', 'audit:read']),
          scopes: ['*'],
          auth_method: 'jwt',
        },
      })
    })

    it('act in the workspace of X-Offshoot-Org, if the user is in it', async () => {
      await harness.pool.query(
        `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'member', now())`,
        [bob.workspaceId, alice.userId],
      )
      const me = (org: string, token: string) =>
        call(control.url, 'GET', '/v1/me', { token, headers: { 'x-offshoot-org': org } })
      expect((await me(bob.workspaceId, alice.jwt)).body.org).toMatchObject({ id: bob.workspaceId, role: 'member' })
      expect((await me(alice.workspaceId, alice.jwt)).body.orgs).toHaveLength(2)
      for (const org of [alice.workspaceId, 'nonsense']) {
        expect(await me(org, bob.jwt)).toMatchObject({ status: 404, body: { error: 'not found' } })
      }
    })

    it('of a user who is gone are refused', async () => {
      const carol = await harness.tenant(control, 'carol')
      await harness.pool.query('delete from "user" where id = $1', [carol.userId])
      expect(await list(`Bearer ${carol.jwt}`)).toMatchObject(refusal('invalid api token'))
    })
  })

  describe('accounts', () => {
    const post = (path: string, body: object) =>
      call(control.url, 'POST', `/api/auth/${path}`, { body, headers: { 'content-type': 'application/json' } })

    it('sign up, sign in, get a token, and act in a personal workspace that is made once', async () => {
      const account = { email: 'dora@example.com', password: 'correct horse', name: 'Dora' }
      expect((await post('sign-up/email', account)).status).toBe(200)
      expect((await post('sign-in/email', { ...account, password: 'wrong horse!' })).status).toBe(401)
      const session = await post('sign-in/email', account)
      const { body } = await call(control.url, 'GET', '/api/auth/token', { token: session.body.token })
      const answers = await Promise.all([1, 2, 3].map(() => call(control.url, 'GET', '/v1/me', { token: body.token })))
      for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body)
      expect(answers[0]?.body).toMatchObject({ user: { email: 'dora@example.com' }, org: { role: 'owner' } })
      expect(answers[0]?.body.orgs).toHaveLength(1)
    })

    it('publish the keys that tokens are signed with, and only their public halves', async () => {
      const { body } = await call(control.url, 'GET', '/api/auth/jwks')
      expect(body.keys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519' })
      expect(body.keys[0]).not.toHaveProperty('d')
    })
  })

  describe('of a sandbox', () => {
    it('is the same 404 for an unknown, a malformed and another workspace’s id', async () => {
      const created = await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })
      const { id } = created.body
      const ids = [
        id,
        id.toUpperCase(),
        '3fa85f64-5717-4562-b3fc-2c963f66afa6',
        'nonsense',
        '..%2f..',
        '%00',
        "'",
        'x'.repeat(300),
      ]
      for (const each of ids) {
        for (const token of [bob.key, bob.jwt]) {
          const path = `/v1/sandboxes/${each}`
          const answers = [
            await call(control.url, 'GET', path, { token }),
            await call(control.url, 'DELETE', path, { token }),
            await call(control.url, 'POST', `${path}/exec`, { token, body: { cmd: 'true' } }),
            await call(control.url, 'POST', `${path}/exec`, { token, body: '{' }),
          ]
          for (const { status, body } of answers)
            expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } })
        }
      }
      expect((await call(control.url, 'GET', `/v1/sandboxes/${id}`, { token: alice.jwt })).body.id).toBe(id)
    })
  })
})
