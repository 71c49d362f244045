// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, call, Harness, type RunningControl } from '../../../test/harness.ts'
import { SoftwareAuthenticator } from '../../../test/software-authenticator.ts'

const PASSWORD = 'correct horse'
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 6238 with SHA-1, 30 seconds and six digits, which authenticator apps use. */
function totp(secret: Buffer, atMs = Date.now()): string {
  const step = Buffer.alloc(8)
  step.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)))
  const mac = createHmac('sha1', secret).update(step).digest()
  const offset = (mac.at(-1) ?? 0) & 0xf
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

function base32(text: string): Buffer {
  const bits = Array.from(text, (char) => BASE32.indexOf(char).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

describe('second factors', () => {
  let harness: Harness
  let control: RunningControl

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([])
  })

  afterAll(() => harness.stop())

  /** A browser on the service's own page: it keeps cookies, and says where its requests come from. */
  class Browser {
    readonly #cookies = new Map<string, string>()

    async ask(method: string, path: string, body?: unknown): Promise<Answer> {
      const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const answer = await call(control.url, method, `/api/auth/${path}`, {
        headers: { origin: control.url, 'content-type': 'application/json', ...(cookie && { cookie }) },
        ...(body !== undefined && { body }),
      })
      for (const each of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
        if (value === '' || /max-age=0/i.test(each)) this.#cookies.delete(name)
        else this.#cookies.set(name, value)
      }
      return answer
    }

    async isSignedIn(): Promise<boolean> {
      return (await this.ask('GET', 'get-session')).body !== null
    }

    signIn(name: string) {
      return this.ask('POST', 'sign-in/email', { email: `${name}@example.com`, password: PASSWORD })
    }
  }

  async function signedUp(name: string): Promise<Browser> {
    const browser = new Browser()
    const account = { email: `${name}@example.com`, password: PASSWORD, name }
    expect((await browser.ask('POST', 'sign-up/email', account)).status).toBe(200)
    return browser
  }

  async function withTotp(name: string) {
    const browser = await signedUp(name)
    const { body } = await browser.ask('POST', 'two-factor/enable', { password: PASSWORD })
    const secret = base32(new URL(body.totpURI).searchParams.get('secret') ?? '')
    expect((await browser.ask('POST', 'two-factor/verify-totp', { code: totp(secret) })).status).toBe(200)
    return { browser, secret, codes: body.backupCodes as string[] }
  }
  /** A code that is valid already, and that {@link withTotp} did not use. */
  const unused = (secret: Buffer) => totp(secret, Date.now() + 30_000)
  const wrong = (secret: Buffer) => String((Number(totp(secret)) + 1) % 1_000_000).padStart(6, '0')

  it('TOTP agrees with the test vectors of RFC 6238', () => {
    const secret = Buffer.from('12345678901234567890')
    expect(totp(secret, 59_000)).toBe('287082')
    expect(totp(secret, 1_111_111_109_000)).toBe('081804')
  })

  it('TOTP is asked for after the password, and nothing opens before', async () => {
    const { secret } = await withTotp('tom')
    const browser = new Browser()
    const first = await browser.signIn('tom')
    expect(first).toMatchObject({ status: 200, body: { twoFactorRedirect: true, twoFactorMethods: ['totp'] } })
    expect(first.body.token).toBeUndefined()
    expect(await browser.isSignedIn()).toBe(false)
    expect((await browser.ask('GET', 'token')).status).toBe(401)
    expect((await browser.ask('POST', 'two-factor/verify-totp', { code: wrong(secret) })).status).toBe(401)
    expect((await browser.ask('POST', 'two-factor/verify-totp', { code: 7 })).status).toBe(400)
    expect((await new Browser().ask('POST', 'two-factor/verify-totp', { code: unused(secret) })).status).toBe(401)
    const second = await browser.ask('POST', 'two-factor/verify-totp', { code: unused(secret) })
    expect(second.status).toBe(200)
    const { body } = await call(control.url, 'GET', '/api/auth/token', { token: second.body.token })
    expect((await call(control.url, 'GET', '/v1/me', { token: body.token })).body.user.email).toBe('tom@example.com')
  })

  it('a TOTP code opens one sign-in, also of two at the same time', async () => {
    const { secret } = await withTotp('tara')
    const code = unused(secret)
    const signIn = async () => {
      const browser = new Browser()
      await browser.signIn('tara')
      const { status } = await browser.ask('POST', 'two-factor/verify-totp', { code, trustDevice: true })
      return { status, isSignedIn: await browser.isSignedIn(), again: await browser.signIn('tara') }
    }
    const both = await Promise.all([signIn(), signIn()])
    expect(both.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 401]))
    const later = await signIn()
    expect([later.status, later.isSignedIn, later.again.body.twoFactorRedirect]).toEqual([401, false, true])
  })

  it('TOTP is switched on by a first code only, and off by the password', { tags: ['faults'] }, async () => {
    const browser = await signedUp('tina')
    expect((await browser.ask('POST', 'two-factor/enable', { password: 'wrong horse' })).status).toBe(400)
    expect((await browser.ask('POST', 'two-factor/enable', { password: PASSWORD })).status).toBe(200)
    expect((await new Browser().signIn('tina')).body.token).toEqual(expect.any(String))
    const uri = (await browser.ask('POST', 'two-factor/get-totp-uri', { password: PASSWORD })).body.totpURI
    const secret = base32(new URL(uri).searchParams.get('secret') ?? '')
    await browser.ask('POST', 'two-factor/verify-totp', { code: totp(secret) })
    expect((await new Browser().signIn('tina')).body.twoFactorRedirect).toBe(true)
    expect((await browser.ask('POST', 'two-factor/disable', { password: 'wrong horse' })).status).toBe(400)
    expect((await browser.ask('POST', 'two-factor/disable', { password: PASSWORD })).status).toBe(200)
    expect((await new Browser().signIn('tina')).body.token).toEqual(expect.any(String))
  })

  it(
    'recovery codes work once, and neither they nor the secret stand in the database',
    { tags: ['faults'] },
    async () => {
      const { codes, secret } = await withTotp('toni')
      const use = async (code: string | undefined) => {
        const browser = new Browser()
        await browser.signIn('toni')
        return (await browser.ask('POST', 'two-factor/verify-backup-code', { code })).status
      }
      expect([await use(codes[0]), await use(codes[0]), await use(codes[1])]).toEqual([200, 401, 200])
      const { rows } = await harness.pool.query('select secret, "backupCodes" from "twoFactor"')
      const kept = JSON.stringify(rows)
      expect(codes.some((code) => kept.includes(code))).toBe(false)
      expect(kept).not.toContain(secret.toString())
    },
  )

  it('guessing codes ends the sign-in, then locks the account', { tags: ['faults'] }, async () => {
    const { secret } = await withTotp('theo')
    const guess = async () => {
      const browser = new Browser()
      await browser.signIn('theo')
      for (let i = 0; i < 5; i++) await browser.ask('POST', 'two-factor/verify-totp', { code: wrong(secret) })
      return browser
    }
    const ended = await guess()
    expect((await ended.ask('POST', 'two-factor/verify-totp', { code: totp(secret) })).status).toBe(400)
    expect(await ended.isSignedIn()).toBe(false)
    await harness.pool.query('update "twoFactor" set "failedVerificationCount" = 9')
    const last = new Browser()
    await last.signIn('theo')
    expect((await last.ask('POST', 'two-factor/verify-totp', { code: wrong(secret) })).status).toBe(401)
    const { rows } = await harness.pool.query(
      `select "lockedUntil" > now() as is_locked from "twoFactor" t join "user" u on u.id = t."userId"
       where u.email = 'theo@example.com'`,
    )
    expect(rows).toEqual([{ is_locked: true }])
  })

  it('codes by mail do not exist', async () => {
    const { browser } = await withTotp('tilo')
    expect((await browser.ask('POST', 'two-factor/send-otp', {})).status).toBe(404)
    expect((await browser.ask('POST', 'two-factor/verify-otp', { code: '123456' })).status).toBe(404)
  })

  describe('passkeys', () => {
    const register = async (browser: Browser, authenticator: SoftwareAuthenticator) => {
      const { body: options } = await browser.ask('GET', 'passkey/generate-register-options')
      return browser.ask('POST', 'passkey/verify-registration', { response: authenticator.create(options.challenge) })
    }
    const signIn = async (browser: Browser, authenticator: SoftwareAuthenticator) => {
      const { body: options } = await browser.ask('GET', 'passkey/generate-authenticate-options')
      return browser.ask('POST', 'passkey/verify-authentication', { response: authenticator.get(options.challenge) })
    }

    it('sign in without password and code, and are listed and deleted by their owner only', async () => {
      const { browser: owner } = await withTotp('pia')
      const authenticator = new SoftwareAuthenticator(control.url)
      expect((await register(owner, authenticator)).status).toBe(200)
      const browser = new Browser()
      const answer = await signIn(browser, authenticator)
      expect(answer).toMatchObject({ status: 200, body: { user: { email: 'pia@example.com' } } })
      expect(await browser.isSignedIn()).toBe(true)
      expect((await signIn(new Browser(), authenticator)).status).toBe(200)
      const { body: listed } = await owner.ask('GET', 'passkey/list-user-passkeys')
      expect(listed).toHaveLength(1)
      const stranger = await signedUp('paul')
      expect((await stranger.ask('POST', 'passkey/delete-passkey', { id: listed[0].id })).status).toBe(401)
      expect((await owner.ask('POST', 'passkey/delete-passkey', { id: listed[0].id })).status).toBe(200)
      expect((await signIn(new Browser(), authenticator)).status).toBe(401)
    })

    it('are refused without a verified user, from another page, with another challenge or key', async () => {
      const owner = await signedUp('petra')
      const authenticator = new SoftwareAuthenticator(control.url)
      authenticator.verifiesUser = false
      expect((await register(owner, authenticator)).status).toBe(401)
      authenticator.verifiesUser = true
      expect((await register(new Browser(), authenticator)).status).toBe(401)
      const elsewhere = new SoftwareAuthenticator('https://evil.example.com', new URL(control.url).hostname)
      expect((await register(owner, elsewhere)).status).toBeGreaterThanOrEqual(400)
      expect((await register(owner, authenticator)).status).toBe(200)
      authenticator.verifiesUser = false
      expect((await signIn(new Browser(), authenticator)).status).toBe(401)
      authenticator.verifiesUser = true
      const browser = new Browser()
      await browser.ask('GET', 'passkey/generate-authenticate-options')
      const replayed = { response: authenticator.get('another challenge') }
      expect((await browser.ask('POST', 'passkey/verify-authentication', replayed)).status).toBe(400)
      const forged = new SoftwareAuthenticator(control.url)
      forged.id.set(authenticator.id)
      expect((await signIn(browser, forged)).status).toBeGreaterThanOrEqual(400)
      expect(await browser.isSignedIn()).toBe(false)
    })
  })
})
