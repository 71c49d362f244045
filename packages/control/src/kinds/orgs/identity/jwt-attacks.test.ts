// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const ISSUER = 'https://login.example.com/'
const REFUSED = { status: 401, body: { error: 'unauthorized', detail: 'invalid api token' } }

/** Serves a key set and counts the requests for it. */
class KeyServer {
  keys: JWK[] = []
  isBroken = false
  asked = 0
  readonly #server: Server

  private constructor() {
    this.#server = createServer((_request, response) => {
      this.asked += 1
      response.writeHead(this.isBroken ? 500 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ keys: this.keys }))
    })
  }

  static async start(): Promise<KeyServer> {
    const server = new KeyServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/jwks`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

describe('tokens', () => {
  let harness: Harness
  let control: RunningControl
  let server: KeyServer
  let believed: KeyServer
  let alice: Tenant
  let pair: { publicKey: CryptoKey; privateKey: CryptoKey }

  beforeAll(async () => {
    harness = await Harness.start()
    server = await KeyServer.start()
    believed = await KeyServer.start()
    pair = await generateKeyPair('RS256', { extractable: true })
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'theirs', alg: 'RS256' }
    server.keys = [jwk]
    believed.keys = [jwk]
    control = await harness.control([], {
      limits: { rate_burst: 100_000, rate_per_second: 100_000 },
      jwt_issuers: [
        { issuer: ISSUER, audience: 'sandboxes', jwks_url: server.url },
        { issuer: 'believed', audience: 'sandboxes', jwks_url: believed.url, is_believed_about_email: true },
      ],
    })
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await server.stop()
    await believed.stop()
  })

  const me = (token: string) => call(control.url, 'GET', '/v1/me', { token })
  const now = () => Math.floor(Date.now() / 1000)
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const ownClaims = () => ({ sub: alice.userId, iss: control.url, aud: 'offshoot', exp: now() + 600 })
  const ownSigned = async (payload: object) =>
    (await control.control.accounts.api.signJWT({ body: { payload: { ...ownClaims(), ...payload } } })).token
  const theirClaims = (more: JWTPayload) => ({ iss: ISSUER, aud: 'sandboxes', exp: now() + 600, sub: 'sub-1', ...more })
  const theirSigned = (more: JWTPayload, header: object = {}, key = pair.privateKey) =>
    new SignJWT(theirClaims(more)).setProtectedHeader({ alg: 'RS256', kid: 'theirs', ...header }).sign(key)
  async function ownPublicKey(): Promise<JWK> {
    return (await call(control.url, 'GET', '/api/auth/jwks')).body.keys[0]
  }

  describe('of our own are refused', () => {
    it.each(['none', 'None', 'NONE', 'nOnE', ''])('unsigned, with the algorithm %j', async (alg) => {
      const { kid } = await ownPublicKey()
      for (const signature of ['', alice.jwt.split('.')[2] ?? '']) {
        expect(await me(`${encode({ alg, kid })}.${encode(ownClaims())}.${signature}`)).toMatchObject(REFUSED)
      }
    })

    it('signed with our public key as if it were a secret', async () => {
      const jwk = await ownPublicKey()
      const spki = await exportSPKI((await importJWK(jwk, 'EdDSA')) as CryptoKey)
      for (const secret of [JSON.stringify(jwk), jwk.x ?? '', Buffer.from(jwk.x ?? '', 'base64url'), spki]) {
        for (const alg of ['HS256', 'HS384', 'HS512']) {
          const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
          const padded = Buffer.concat([bytes, Buffer.alloc(Math.max(0, 64 - bytes.length))])
          const { kid } = jwk
          const forged = await new SignJWT(ownClaims())
            .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
            .sign(padded)
          expect(await me(forged)).toMatchObject(REFUSED)
        }
      }
    })

    it('signed with a key that the token brings along, or points to', async () => {
      const jwk = await exportJWK(pair.publicKey)
      const { kid = '' } = await ownPublicKey()
      for (const header of [
        { jwk },
        { jku: server.url },
        { x5u: server.url },
        { kid, jwk },
        { kid, jku: server.url },
      ]) {
        const before = server.asked
        const forged = await new SignJWT(ownClaims())
          .setProtectedHeader({ alg: 'RS256', ...header })
          .sign(pair.privateKey)
        expect(await me(forged)).toMatchObject(REFUSED)
        expect(server.asked).toBe(before)
      }
    })

    it.each([
      '../../etc/passwd',
      "' or '1'='1",
      'theirs',
      '',
      'x'.repeat(1000),
      '3fa85f64-5717-4562-b3fc-2c963f66afa6',
    ])('under the key id %j', async (kid) => {
      expect(await me(await theirSigned(ownClaims(), { kid }))).toMatchObject(REFUSED)
    })

    it('for another audience, of another issuer, too late, too early, without an end or a subject', async () => {
      const tokens = [
        { aud: 'other' },
        { aud: ['other', 'offshoots'] },
        { iss: `${control.url}/` },
        { iss: 'https://evil.example.com' },
        { exp: now() - 60 },
        { nbf: now() + 60 },
        { iat: now() + 60 },
        { sub: '' },
        { sub: "' or '1'='1" },
        { sub: '3fa85f64-5717-4562-b3fc-2c963f66afa6' },
      ]
      for (const payload of tokens) expect(await me(await ownSigned(payload))).toMatchObject(REFUSED)
      expect((await me(await ownSigned({}))).status).toBe(200)
    })

    it('changed, cut, or huge', async () => {
      const [head = '', payload = '', signature = ''] = alice.jwt.split('.')
      const other = encode({ ...ownClaims(), sub: alice.workspaceId })
      const broken = [
        `${head}.${other}.${signature}`,
        `${head}.${payload}`,
        `${head}.${payload}.`,
        `${head}.${payload}.${signature}.x`,
        `.${payload}.${signature}`,
        `${encode({ alg: 'EdDSA', crit: ['x'], x: 1 })}.${payload}.${signature}`,
        `${encode([])}.${encode([])}.x`,
        `${head}.${'a'.repeat(20_000)}.${signature}`,
        'a'.repeat(30_000),
      ]
      for (const token of broken) expect(await me(token)).toMatchObject(REFUSED)
      expect((await me('a'.repeat(40_000))).status).toBe(431)
    })
  })

  describe('of a foreign issuer', () => {
    it('make their user at the first, with a workspace, and find the same at the next', async () => {
      const token = await theirSigned({ sub: 'ada', email: 'Ada@Example.com', name: 'Ada\r\nL.' })
      const answers = await Promise.all([me(token), me(token), me(token)])
      for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]?.body])
      expect(answers[0]?.body).toMatchObject({
        user: { email: 'ada@example.com', name: 'Ada L.' },
        org: { role: 'owner' },
        auth_method: 'jwt',
      })
      const again = await me(await theirSigned({ sub: 'ada', email: 'other@example.com' }))
      expect(again.body.user).toEqual(answers[0]?.body.user)
      const key = await call(control.url, 'POST', '/v1/me/tokens', { token, body: { name: 'k' } })
      expect(key.status).toBe(201)
    })

    it('need no address, and get none that is another’s', async () => {
      const { body } = await me(await theirSigned({ sub: 'anon' }))
      expect(body.user.email).toMatch(/^user-[0-9a-f]{32}@issuer\.invalid$/)
      for (const email of ['a@b\r\nBcc: c@d', 7, 'x', '<a@b>']) {
        const { body: made } = await me(await theirSigned({ sub: `odd-${String(email)}`, email }))
        expect(made.user.email).toMatch(/@issuer\.invalid$/)
      }
      for (const more of [{}, { email_verified: true }]) {
        expect(await me(await theirSigned({ sub: 'thief', email: 'alice@example.com', ...more }))).toMatchObject(
          REFUSED,
        )
      }
    })

    it('that is believed about addresses speak for who has the address, once both have confirmed it', async () => {
      const signed = (more: JWTPayload) => theirSigned({ iss: 'believed', ...more })
      const claims = { sub: 'alice-there', email: 'alice@example.com' }
      expect(await me(await signed(claims))).toMatchObject(REFUSED)
      await harness.pool.query(
        `insert into "user" (name, email, "emailVerified") values ('m', 'mallory@example.com', false)`,
      )
      const prepared = { sub: 'm', email: 'mallory@example.com', email_verified: true }
      expect(await me(await signed(prepared))).toMatchObject(REFUSED)
      expect((await me(await signed({ ...claims, email_verified: true }))).body.user.id).toBe(alice.userId)
      expect((await me(await signed(claims))).body.user.id).toBe(alice.userId)
    })

    it('are refused for another audience, too late, unsigned, or with the key of another', async () => {
      const stranger = await generateKeyPair('RS256')
      const secret = new TextEncoder().encode(await exportSPKI(pair.publicKey))
      const tokens = [
        await theirSigned({ aud: 'offshoot' }),
        await theirSigned({ exp: now() - 60 }),
        await theirSigned({ iat: now() + 60 }),
        await theirSigned({ iss: 'https://login.example.com' }),
        await theirSigned({}, {}, stranger.privateKey),
        await new SignJWT(theirClaims({})).setProtectedHeader({ alg: 'HS256', kid: 'theirs' }).sign(secret),
        `${encode({ alg: 'none', kid: 'theirs' })}.${encode(theirClaims({}))}.`,
        await ownSigned({ iss: ISSUER, aud: 'sandboxes' }),
      ]
      for (const token of tokens) expect(await me(token)).toMatchObject(REFUSED)
    })

    it('do not make us besiege it with invented key ids', async () => {
      const before = server.asked
      const tokens = await Promise.all(Array.from({ length: 20 }, (_, i) => theirSigned({}, { kid: `invented-${i}` })))
      for (const token of tokens) expect(await me(token)).toMatchObject(REFUSED)
      expect(server.asked - before).toBeLessThanOrEqual(1)
    })

    it('are answered 503 while its keys cannot be had, and others go on', async () => {
      server.isBroken = true
      const fresh = await harness.control([], {
        jwt_issuers: [{ issuer: ISSUER, audience: 'sandboxes', jwks_url: server.url }],
      })
      const answer = await call(fresh.url, 'GET', '/v1/me', { token: await theirSigned({}) })
      expect(answer).toMatchObject({ status: 503, body: { error: 'token issuer unreachable' } })
      expect((await call(fresh.url, 'GET', '/v1/templates', { token: alice.key })).status).toBe(200)
      server.isBroken = false
      expect((await call(fresh.url, 'GET', '/v1/me', { token: await theirSigned({}) })).status).toBe(200)
    })
  })
})
