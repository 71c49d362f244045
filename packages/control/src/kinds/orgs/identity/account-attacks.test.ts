// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, eventually, Harness, type RunningControl } from '../../../test/harness.ts'
import { MailServer } from '../../../test/mail-server.ts'

const PASSWORD = 'correct horse'
const COOKIE = 'better-auth.session_token'

describe('attacks on accounts', () => {
  let harness: Harness
  let mails: MailServer
  let control: RunningControl

  beforeAll(async () => {
    harness = await Harness.start()
    mails = await MailServer.start()
    control = await harness.control([], {
      mail: { from: 'noreply@example.com', smtp: { host: '127.0.0.1', port: mails.port } },
    })
  })

  afterAll(async () => {
    await harness.stop()
    await mails.stop()
  })

  const json = { 'content-type': 'application/json' }
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    call(control.url, 'POST', `/api/auth/${path}`, { body, headers: { ...json, ...headers } })
  const account = (name: string) => ({ email: `${name}@example.com`, password: PASSWORD, name })
  async function signedIn(name: string): Promise<string> {
    const answer = await post('sign-up/email', account(name))
    const cookie = answer.headers.getSetCookie().find((each) => each.startsWith(COOKIE))
    return cookie?.split(';')[0] ?? ''
  }

  it(
    'CSRF: a cookie does nothing for a page of another origin, nor for one that does not say where it is from',
    { tags: ['faults'] },
    async () => {
      const cookie = await signedIn('carl')
      const change = { currentPassword: PASSWORD, newPassword: 'attacker horse' }
      for (const origin of ['https://evil.example.com', 'null', `${control.url}.evil.example.com`, undefined]) {
        const headers = { cookie, ...(origin !== undefined && { origin }) }
        expect((await post('change-password', change, headers)).status).toBe(403)
      }
      expect((await post('sign-in/email', account('carl'))).status).toBe(200)
      // Browsers let any page send a form to any origin without a preflight.
      const form = await call(control.url, 'POST', '/api/auth/change-password', {
        body: 'currentPassword=correct+horse&newPassword=attacker+horse',
        headers: { cookie, origin: 'https://evil.example.com', 'content-type': 'application/x-www-form-urlencoded' },
      })
      expect(form.status).toBe(415)
    },
  )

  it('CSRF: a cookie opens nothing under /v1', async () => {
    const cookie = await signedIn('cora')
    for (const [method, path] of [
      ['GET', '/v1/me'],
      ['POST', '/v1/me/tokens'],
      ['POST', '/v1/sandboxes'],
    ] as const) {
      const answer = await call(control.url, method, path, { headers: { cookie, origin: control.url } })
      expect(answer).toMatchObject({ status: 401, body: { detail: 'missing bearer token' } })
    }
  })

  it('cookies are out of reach for scripts, and of other sites', async () => {
    const answer = await post('sign-up/email', account('hana'))
    const cookie = answer.headers.getSetCookie().find((each) => each.startsWith(COOKIE))
    expect(cookie).toMatch(/; HttpOnly/i)
    expect(cookie).toMatch(/; SameSite=Strict/i)
  })

  it(
    'session fixation: a session that was chosen beforehand is not the one that is signed in',
    { tags: ['faults'] },
    async () => {
      const attacker = await signedIn('fynn')
      const origin = control.url
      const victim = await post('sign-up/email', account('vito'), { cookie: attacker, origin })
      const issued = victim.headers.getSetCookie().find((each) => each.startsWith(COOKIE)) ?? ''
      expect(issued).not.toBe('')
      expect(issued.startsWith(attacker)).toBe(false)
      const session = await call(control.url, 'GET', '/api/auth/get-session', { headers: { cookie: attacker } })
      expect(session.body.user.email).toBe('fynn@example.com')
      const made = await post('sign-in/email', account('vito'), { cookie: `${COOKIE}=chosen.signature`, origin })
      expect(made.body.token).not.toContain('chosen')
    },
  )

  it('mass assignment: a sign-up sets nothing but address, password and name', async () => {
    const extra = {
      id: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
      emailVerified: true,
      role: 'admin',
      current_workspace_id: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
      createdAt: '2001-01-01T00:00:00Z',
    }
    const { status, body } = await post('sign-up/email', { ...account('mara'), ...extra })
    if (status === 200) expect(body.user.id).not.toBe(extra.id)
    const { rows } = await harness.pool.query(
      `select id, "emailVerified", current_workspace_id from "user" where email = 'mara@example.com' or id = $1`,
      [extra.id],
    )
    for (const row of rows) {
      expect(row).toEqual({
        id: expect.not.stringContaining(extra.id),
        emailVerified: false,
        current_workspace_id: null,
      })
    }
    const cookie = await signedIn('milo')
    await post(
      'update-user',
      { name: 'Milo', emailVerified: true, email: 'x@example.com' },
      { cookie, origin: control.url },
    )
    const after = await harness.pool.query(`select "emailVerified" from "user" where email = 'milo@example.com'`)
    expect(after.rows).toEqual([{ emailVerified: false }])
  })

  it.each([
    'https://evil.example.com/',
    '//evil.example.com',
    '/\\evil.example.com',
    'javascript:alert(1)',
    '/%5cevil.example.com',
    '\thttps://evil.example.com',
  ])('open redirects: no link leads to %j', async (target) => {
    const query = encodeURIComponent(target)
    expect((await post('request-password-reset', { email: 'carl@example.com', redirectTo: target })).status).toBe(403)
    expect((await post('sign-in/email', { ...account('carl'), callbackURL: target })).status).toBe(403)
    for (const path of [`verify-email?token=x&callbackURL=${query}`, `reset-password/x?callbackURL=${query}`]) {
      const answer = await fetch(`${control.url}/api/auth/${path}`, { redirect: 'manual' })
      expect(answer.status).toBe(403)
      expect(answer.headers.get('location')).toBeNull()
    }
  })

  it('mail header injection: what a user is called, or gives as an address, adds no header and no recipient', async () => {
    const name = 'Eve\r\nBcc: eve@evil.example.com\r\n\r\nHello'
    expect((await post('sign-up/email', { ...account('eva'), name })).status).toBe(200)
    const mail = await eventually(() => mails.to('eva@example.com'))
    expect(mail.to).toEqual(['eva@example.com'])
    expect(mail.raw.split('\r\n\r\n')[0]).not.toMatch(/^bcc:/im)
    for (const email of [
      'eva@example.com\r\nBcc: eve@evil.example.com',
      'eva@example.com, eve@evil.example.com',
      '<eva@example.com>',
    ]) {
      expect((await post('sign-up/email', { ...account('x'), email })).status).toBe(400)
    }
    expect(mails.received.some(({ to }) => to.includes('eve@evil.example.com'))).toBe(false)
  })

  it('guessing passwords gets slow for one address, whatever it says of itself', async () => {
    const guess = (i: number, body: object) =>
      post('sign-in/email', body, { 'x-forwarded-for': `192.0.2.${i}`, 'x-offshoot-client-ip': `192.0.2.${i}` })
    const statuses: number[] = []
    // Control counts attempts before it looks at them, so the test need not wait for password hashing.
    for (let i = 0; i < 70 && !statuses.includes(429); i++)
      statuses.push((await guess(i, { email: 'no address' })).status)
    expect(new Set(statuses)).toEqual(new Set([400, 429]))
    expect((await guess(99, account('carl'))).status).toBe(429)
  })
})
