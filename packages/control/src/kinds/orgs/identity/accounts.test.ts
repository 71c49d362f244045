import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, eventually, Harness, type RunningControl } from '../../../test/harness.ts'
import { MailServer, textOf } from '../../../test/mail-server.ts'

const PASSWORD = 'correct horse'

describe('accounts', () => {
  let harness: Harness
  let mails: MailServer
  let control: RunningControl

  beforeAll(async () => {
    harness = await Harness.start()
    mails = await MailServer.start()
    control = await harness.control([], {
      mail: { from: 'Offshoot <noreply@example.com>', smtp: { host: '127.0.0.1', port: mails.port } },
    })
  })

  afterAll(async () => {
    await harness.stop()
    await mails.stop()
  })

  const post = (path: string, body: object, { url } = control, headers: Record<string, string> = {}) =>
    call(url, 'POST', `/api/auth/${path}`, { body, headers: { 'content-type': 'application/json', ...headers } })
  const signUp = (name: string, running = control) =>
    post('sign-up/email', { email: `${name}@example.com`, password: PASSWORD, name }, running)
  const signIn = (name: string, password = PASSWORD, running = control) =>
    post('sign-in/email', { email: `${name}@example.com`, password }, running)
  const tokenFor = (session: string) => call(control.url, 'GET', '/api/auth/token', { token: session })
  const mailTo = (name: string, subject: string) =>
    eventually(() => {
      const mail = mails.to(`${name}@example.com`)
      return mail?.raw.includes(`Subject: ${subject}`) ? textOf(mail) : null
    })

  it('confirm their address by a mail that is sent once', async () => {
    expect((await signUp('vera')).body.user).toMatchObject({ email: 'vera@example.com', emailVerified: false })
    const text = await mailTo('vera', 'Confirm your address for Offshoot')
    const link = /http\S+/.exec(text)?.[0] ?? ''
    expect(link.startsWith(`${control.url}/api/auth/verify-email?token=`)).toBe(true)
    expect((await fetch(link)).status).toBe(200)
    const { rows } = await harness.pool.query(`select "emailVerified" from "user" where email = 'vera@example.com'`)
    expect(rows).toEqual([{ emailVerified: true }])
    expect(mails.received.filter(({ to }) => to.includes('vera@example.com'))).toHaveLength(1)
    expect(mails.to('vera@example.com')?.from).toBe('noreply@example.com')
    expect(await eventually(async () => (await harness.pool.query('select from mails')).rowCount === 0)).toBe(true)
  })

  it('reset their password with what was mailed, once, and lose their sessions', async () => {
    const session = (await signUp('rosa')).body.token
    expect((await tokenFor(session)).status).toBe(200)
    expect((await post('request-password-reset', { email: 'rosa@example.com' })).status).toBe(200)
    const text = await mailTo('rosa', 'Reset your Offshoot password')
    const token = /"token":"([^"]+)"/.exec(text)?.[1] ?? ''
    const reset = (newPassword: string) => post('reset-password', { token, newPassword })
    expect((await reset('short')).status).toBe(400)
    expect((await reset('another horse')).status).toBe(200)
    expect((await reset('a third horse')).status).toBe(400)
    expect((await tokenFor(session)).status).toBe(401)
    expect((await signIn('rosa')).status).toBe(401)
    expect((await signIn('rosa', 'another horse')).status).toBe(200)
  })

  it('lose the tokens of their sessions with a reset password, and by signing out those of that session', async () => {
    const signedUp = (await signUp('tess')).body.token
    const { token: before } = (await tokenFor(signedUp)).body
    const me = async (token: string) => (await call(control.url, 'GET', '/v1/me', { token })).status
    expect(await me(before)).toBe(200)
    const { accounts } = control.control
    const { rows } = await harness.pool.query(`select id from "user" where email = 'tess@example.com'`)
    // Such tokens belong to no session, like the one in the first credentials.
    const unbound = async (more: object) =>
      (await accounts.api.signJWT({ body: { payload: { sub: rows[0].id, ...more } } })).token
    const nowS = Math.floor(Date.now() / 1000)
    const without = [await unbound({}), await unbound({ iat: nowS })]
    for (const each of without) expect(await me(each)).toBe(200)
    await post('request-password-reset', { email: 'tess@example.com' })
    const mail = await mailTo('tess', 'Reset your Offshoot password')
    const token = /"token":"([^"]+)"/.exec(mail)?.[1] ?? ''
    expect((await post('reset-password', { token, newPassword: 'another horse' })).status).toBe(200)
    expect(await me(before)).toBe(401)
    for (const each of without) expect(await me(each)).toBe(401)
    expect(await me(await unbound({ iat: Math.floor(Date.now() / 1000) + 2 }))).toBe(200)
    const [one, other] = [await signIn('tess', 'another horse'), await signIn('tess', 'another horse')]
    const [first, second] = [await tokenFor(one.body.token), await tokenFor(other.body.token)]
    expect([await me(first.body.token), await me(second.body.token)]).toEqual([200, 200])
    await post('sign-out', {}, control, { authorization: `Bearer ${one.body.token}` })
    expect([await me(first.body.token), await me(second.body.token)]).toEqual([401, 200])
  })

  it(
    'reset their password: what was mailed before and not used is void, and keys stay',
    { tags: ['faults'] },
    async () => {
      await signUp('rita')
      const ask = async () => {
        const seen = mails.received.length
        await post('request-password-reset', { email: 'rita@example.com' })
        const text = await eventually(() => {
          const mail = mails.received
            .slice(seen)
            .find(({ raw }) => raw.includes('Subject: Reset your Offshoot password'))
          return mail && textOf(mail)
        })
        return /"token":"([^"]+)"/.exec(text)?.[1] ?? ''
      }
      const [first, second] = [await ask(), await ask()]
      expect((await post('reset-password', { token: second, newPassword: 'another horse' })).status).toBe(200)
      expect((await post('reset-password', { token: first, newPassword: 'a third horse' })).status).toBe(400)
      expect((await signIn('rita', 'another horse')).status).toBe(200)
      expect(await mailTo('rita', 'Your Offshoot password was changed')).toContain('/v1/me/tokens')
    },
  )

  it('answer a reset for an unknown address as one for a known one', async () => {
    await signUp('kira')
    const [known, unknown] = [
      await post('request-password-reset', { email: 'kira@example.com' }),
      await post('request-password-reset', { email: 'nobody@example.com' }),
    ]
    expect(unknown.body).toEqual(known.body)
    expect(unknown.status).toBe(known.status)
    await mailTo('kira', 'Reset your Offshoot password')
    expect(mails.to('nobody@example.com')).toBeUndefined()
  })

  it('leave nothing in the database that opens a session or resets a password', async () => {
    const { token } = (await signUp('dora')).body
    await post('request-password-reset', { email: 'dora@example.com' })
    const text = await mailTo('dora', 'Reset your Offshoot password')
    const reset = /"token":"([^"]+)"/.exec(text)?.[1] ?? ''
    const { rows } = await harness.pool.query('select token from session')
    for (const row of rows as { token: string }[]) expect((await tokenFor(row.token)).status).toBe(401)
    expect((await tokenFor(token)).status).toBe(200)
    const kept = await harness.pool.query('select identifier, value from verification')
    expect(kept.rows.length).toBeGreaterThan(0)
    expect(JSON.stringify([rows, kept.rows])).not.toMatch(new RegExp(`${token}|${reset}`))
    for (const path of ['list-sessions', 'revoke-session', 'revoke-other-sessions', 'organization/create']) {
      expect((await post(path, {}, control, { authorization: `Bearer ${token}` })).status).toBe(404)
    }
  })

  it.each([
    ['sign-up/email', {}, 400, 'name required; email required; password required'],
    ['sign-up/email', { email: 'x', password: PASSWORD, name: 'x' }, 400, 'email: Invalid email address'],
    ['sign-up/email', { email: 'x@example.com', password: 'x'.repeat(7), name: 'x' }, 400, /at least 8 characters/],
    ['sign-up/email', { email: 'x@example.com', password: 'x'.repeat(129), name: 'x' }, 400, /at most 128 characters/],
    ['sign-in/email', { email: 'x@example.com', password: PASSWORD }, 401, 'Invalid email or password'],
    ['no-such-route', {}, 404, 'not found'],
  ])('refuse %s %j as every route does', async (path, body, status, error) => {
    const answer = await post(path, body)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.body.error).toEqual(typeof error === 'string' ? error : expect.stringMatching(error))
    expect(Object.keys(answer.body).filter((key) => key !== 'error' && key !== 'message')).toEqual([])
  })

  it('sign in again with a script that keeps its cookies and says nothing of its JSON', async () => {
    const first = await signUp('nora')
    const cookie = first.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ')
    for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
      const answer = await post('sign-in/email', { email: 'nora@example.com', password: PASSWORD }, control, {
        cookie,
        'content-type': type,
      })
      expect([answer.status, answer.body.user?.email]).toEqual([200, 'nora@example.com'])
      // A web page must not: the browser's user would be signed in to another account.
      const page = { cookie, origin: 'https://evil.example.com', 'content-type': type }
      expect(
        (await post('sign-in/email', { email: 'nora@example.com', password: PASSWORD }, control, page)).status,
      ).not.toBe(200)
    }
  })

  it('sign out, and the session is gone', async () => {
    const { token } = (await signUp('otto')).body
    expect((await post('sign-out', {}, control, { authorization: `Bearer ${token}` })).status).toBe(200)
    expect((await tokenFor(token)).status).toBe(401)
  })

  it('get their mail also when the server was busy for a while', async () => {
    mails.isBusy = true
    await signUp('lena')
    await eventually(async () => {
      const { rows } = await harness.pool.query(
        `select from graphile_worker.jobs where task_identifier = 'send-mail' and last_error is not null`,
      )
      return rows.length > 0
    })
    mails.isBusy = false
    await harness.pool.query('update mails set due_at = now()')
    await mailTo('lena', 'Confirm your address for Offshoot')
  })

  it(
    'are refused if sign-up is closed, and need an invitation if it is by invitation',
    { tags: ['faults'] },
    async () => {
      const closed = await harness.control([], { sign_up: 'closed' })
      expect(await signUp('paul', closed)).toMatchObject({ status: 403, body: { message: 'Sign-up is closed' } })
      expect((await signIn('vera', PASSWORD, closed)).status).toBe(200)
      const invited = await harness.control([], { sign_up: 'invitation' })
      expect(await signUp('paul', invited)).toMatchObject({
        status: 403,
        body: { message: 'Sign-up takes an invitation' },
      })
      const vera = await harness.tenant(control, 'vera-tenant')
      await harness.pool.query(
        `insert into invitations (workspace_id, email, role, token_hash, expires_at)
       values ($1, 'paul@example.com', 'member', 'x', now() + interval '1 day')`,
        [vera.workspaceId],
      )
      expect((await signUp('paul', invited)).status).toBe(200)
    },
  )

  it('sign in only with a confirmed address where that is asked for', { tags: ['faults'] }, async () => {
    const strict = await harness.control([], { require_verified_email: true })
    expect((await signUp('nora', strict)).body.token).toBeNull()
    expect((await signIn('nora', PASSWORD, strict)).status).toBe(403)
    await harness.pool.query(`update "user" set "emailVerified" = true where email = 'nora@example.com'`)
    expect((await signIn('nora', PASSWORD, strict)).status).toBe(200)
    // The second sign-up's answer reveals nothing; a mail informs the owner of the address.
    expect((await signUp('nora', strict)).status).toBe(200)
  })
})
