import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { makeSignInLink } from './sign-in-links.ts'

const SESSION = 'better-auth.session_token'
const USED = { error: 'this link was used or has expired', message: 'this link was used or has expired' }

describe('a link that signs in once', () => {
  let harness: Harness
  let control: RunningControl
  let tenant: Tenant

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([])
    tenant = await harness.tenant(control, 'lena')
  })

  afterAll(async () => {
    await harness.stop()
  })

  const make = () => makeSignInLink(harness.pool, tenant.userId)
  const open = (token: unknown, headers: Record<string, string> = {}) =>
    call(control.url, 'POST', '/api/auth/sign-in/link', {
      body: { token },
      headers: { 'content-type': 'application/json', origin: control.url, ...headers },
    })

  it('begins a session, whose cookie only pages of this site send and no script reads', async () => {
    const answer = await open(await make())
    expect([answer.status, answer.body.user.email]).toEqual([200, 'lena@example.com'])
    const cookie = answer.headers.getSetCookie().find((each) => each.startsWith(SESSION)) ?? ''
    expect(cookie).toMatch(/; HttpOnly(;|$)/)
    expect(cookie).toMatch(/; SameSite=Strict(;|$)/)
    const token = await call(control.url, 'GET', '/api/auth/token', {
      headers: { cookie: cookie.split(';')[0] ?? '' },
    })
    const me = await call(control.url, 'GET', '/v1/me', { token: token.body.token })
    expect(me.body).toMatchObject({ user: { id: tenant.userId }, org: { id: tenant.workspaceId } })
  })

  it('signs in from the page of the other name of this machine, and of no other', async () => {
    const { port } = new URL(control.url)
    expect((await open(await make(), { origin: `http://localhost:${port}` })).status).toBe(200)
    const cookie = `${SESSION}=x.y`
    expect((await open(await make(), { origin: 'http://evil.example.com', cookie })).status).toBe(403)
    expect((await open(await make(), { origin: 'http://localhost:1', cookie })).status).toBe(403)
  })

  it('signs in once, also when it is opened twice at the same time', async () => {
    const token = await make()
    const answers = await Promise.all(Array.from({ length: 8 }, () => open(token)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, body } of answers.filter((each) => each.status !== 200)) {
      expect({ status, body }).toEqual({ status: 401, body: USED })
    }
  })

  it('ends when there is a newer one, and a day later', async () => {
    const older = await make()
    const newer = await make()
    expect(await open(older)).toMatchObject({ status: 401, body: USED })
    await harness.pool.query(`update sign_in_links set expires_at = now() - interval '1 second'`)
    expect(await open(newer)).toMatchObject({ status: 401, body: USED })
    await make()
    const { rows } = await harness.pool.query<{ seconds: number }>(
      'select extract(epoch from expires_at - now())::int as seconds from sign_in_links',
    )
    expect(rows[0]?.seconds).toBeGreaterThan(86_000)
    expect(rows[0]?.seconds).toBeLessThanOrEqual(86_400)
    const { rows: links } = await harness.pool.query<Record<string, unknown>>('select * from sign_in_links')
    expect(links).toHaveLength(1)
  })

  it('is in the database as a hash only', async () => {
    const token = await make()
    const { rows } = await harness.pool.query<{ text: string }>('select l::text as text from sign_in_links l')
    expect(rows[0]?.text).not.toContain(token)
    expect(rows[0]?.text).not.toContain(Buffer.from(token).toString('hex'))
  })

  it.each([
    ['a wrong one', 'x'.repeat(43), 401],
    ['an empty one', '', 401],
    ['a long one', 'x'.repeat(257), 400],
    ['a number', 1, 400],
    ['none', undefined, 400],
  ])('refuses %s', async (_what, token, status) => {
    const answer = await open(token)
    expect([answer.status, Object.keys(answer.body)]).toEqual([status, ['error', 'message']])
    expect(answer.headers.getSetCookie()).toEqual([])
  })

  it('lets an address guess only so often', async () => {
    const answers = []
    for (let i = 0; i < 70; i++) answers.push(await open('wrong'))
    expect(answers.at(-1)?.status).toBe(429)
  })
})
