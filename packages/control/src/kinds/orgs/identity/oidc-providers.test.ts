// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { call, eventually, Harness, type RunningControl } from '../../../test/harness.ts'
import { OidcServer } from '../../../test/oidc-server.ts'

describe('sign-in with OpenID Connect', () => {
  let harness: Harness
  let server: OidcServer
  let control: RunningControl

  beforeAll(async () => {
    harness = await Harness.start()
    server = await OidcServer.start()
    server.isBroken = true
    const { CLIENT_ID: client_id, CLIENT_SECRET: client_secret } = OidcServer
    control = await harness.control([], {
      oidc_providers: [{ id: 'acme', name: 'Acme', issuer: server.issuer, client_id, client_secret }],
    })
  })

  beforeEach(() => {
    server.forge = {}
    server.usesOtherKey = false
  })

  afterAll(async () => {
    await harness.stop()
    await server.stop()
  })

  const begin = () =>
    call(control.url, 'POST', '/api/auth/sign-in/social', {
      body: { provider: 'acme', callbackURL: `${control.url}/done` },
      headers: { 'content-type': 'application/json', origin: control.url },
    })
  const cookiesOf = (headers: Headers) =>
    headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ')

  /** Goes through the provider, as a browser does. `change` may tamper with the way back. */
  async function signIn(change: (url: URL) => void = () => undefined, keepsCookies = true) {
    const begun = await begin()
    expect(begun.status).toBe(200)
    const visited = await fetch(begun.body.url, { redirect: 'manual' })
    expect(visited.status).toBe(302)
    const back = new URL(visited.headers.get('location') ?? '')
    change(back)
    const cookie = keepsCookies ? cookiesOf(begun.headers) : ''
    const answer = await fetch(back, { redirect: 'manual', headers: { ...(cookie && { cookie }) } })
    const location = answer.headers.get('location') ?? ''
    const session = await call(control.url, 'GET', '/api/auth/get-session', {
      headers: { cookie: cookiesOf(answer.headers) },
    })
    return { location, back, cookie, user: session.body?.user ?? null }
  }
  const accountsOf = async (email: string) =>
    (
      await harness.pool.query(
        `select a."providerId", a."accountId", a."accessToken", a."idToken" from account a
         join "user" u on u.id = a."userId" where u.email = $1`,
        [email],
      )
    ).rows

  const address = (email: string, isVerified: boolean) =>
    harness.pool.query(`insert into "user" (name, email, "emailVerified") values ('x', $1, $2)`, [email, isVerified])

  it('begins once the provider can be reached, and does not stop control before', async () => {
    expect((await begin()).status).toBe(404)
    const service = { sign_up: 'open', sign_in_providers: [], support: null, has_payments: false }
    expect(await call(control.url, 'GET', '/v1/service')).toMatchObject({ status: 200, body: service })
    server.isBroken = false
    const context = await control.control.accounts.$context
    await eventually(() => context.socialProviders.length > 0)
    const { body } = await call(control.url, 'GET', '/v1/service')
    expect(body.sign_in_providers).toEqual([{ id: 'acme', name: 'Acme' }])
    const begun = await begin()
    // The provider's page leads back from another site.
    expect(begun.headers.getSetCookie()).toEqual([expect.stringMatching(/^better-auth\.state=.*; SameSite=Lax/)])
    const url = new URL(begun.body.url)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: OidcServer.CLIENT_ID,
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${control.url}/api/auth/callback/acme`,
      nonce: expect.any(String),
      state: expect.any(String),
    })
  })

  it('makes an account at the first time and finds it later, and keeps no token of the provider', async () => {
    server.claims = { sub: 'a-1', email: 'anna@example.com', email_verified: true, name: 'Anna' }
    const first = await signIn()
    expect(first).toMatchObject({ location: `${control.url}/done`, user: { email: 'anna@example.com' } })
    server.claims = { ...server.claims, email: 'anna.new@example.com' }
    expect((await signIn()).user.id).toBe(first.user.id)
    expect(await accountsOf('anna@example.com')).toEqual([
      { providerId: 'acme', accountId: 'a-1', accessToken: null, idToken: null },
    ])
  })

  it('links to an account only if both sides have confirmed the address', async () => {
    await address('both@example.com', true)
    await address('here@example.com', true)
    await address('there@example.com', false)
    server.claims = { sub: 'b-1', email: 'both@example.com', email_verified: true, name: 'B' }
    expect((await signIn()).user.email).toBe('both@example.com')
    for (const claims of [
      { sub: 'b-2', email: 'here@example.com', email_verified: false, name: 'B' },
      { sub: 'b-3', email: 'here@example.com', name: 'B' },
      { sub: 'b-4', email: 'there@example.com', email_verified: true, name: 'B' },
    ]) {
      server.claims = claims
      const refused = await signIn()
      expect(refused.user).toBeNull()
      expect(refused.location).toContain('error=account_not_linked')
      expect(await accountsOf(claims.email)).toEqual([])
    }
  })

  it.each([
    ['another audience', { aud: 'other' }],
    ['another issuer', { iss: 'https://evil.example.com' }],
    ['another nonce', { nonce: 'replayed' }],
    ['no nonce', { nonce: undefined }],
    ['its time over', { exp: 1 }],
  ])('refuses an ID token with %s', async (_what, forged) => {
    server.claims = { sub: 'c-1', email: 'carl@example.com', email_verified: true, name: 'Carl' }
    server.forge = forged
    expect((await signIn()).user).toBeNull()
    expect(await accountsOf('carl@example.com')).toEqual([])
  })

  it('refuses an ID token that the provider did not sign, a wrong state, and a code that is used again', async () => {
    server.claims = { sub: 'd-1', email: 'dora@example.com', email_verified: true, name: 'Dora' }
    server.usesOtherKey = true
    expect((await signIn()).user).toBeNull()
    server.usesOtherKey = false
    expect((await signIn((url) => url.searchParams.set('state', 'other'))).user).toBeNull()
    expect((await signIn((url) => url.searchParams.delete('state'))).user).toBeNull()
    expect((await signIn((url) => url.searchParams.set('code', 'invented'))).user).toBeNull()
    // Another browser must not complete the sign-in: an attacker could give the victim the attacker's session.
    expect((await signIn(undefined, false)).user).toBeNull()
    const { user, back, cookie } = await signIn()
    expect(user.email).toBe('dora@example.com')
    const again = await fetch(back, { redirect: 'manual', headers: { cookie } })
    expect(again.headers.get('location')).toContain('error=')
  })
})
