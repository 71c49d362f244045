import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, eventually, Harness, type RunningControl } from '../../../test/harness.ts'
import { Keyring } from '../../../platform/secrets/keyring.ts'
import { headerOf, onlyKey, Seal } from '../../../platform/secrets/seal.ts'
import { keepKeys } from './key-routes.ts'

const OPERATOR = 'operator-key'
const PASSWORD = 'correct horse'
const MAILS = 250

describe('rotation of keys', () => {
  let harness: Harness
  let control: RunningControl
  let root: string

  beforeAll(async () => {
    harness = await Harness.start()
    control = await start()
    root = await readFile(join(harness.dataDir, 'accounts-secret'), 'utf8')
  })

  afterAll(() => harness.stop())

  const start = () => harness.control([], { operator_key_sha256: createHash('sha256').update(OPERATOR).digest('hex') })
  const ask = (method: string, path: string, token = OPERATOR) => call(control.url, method, path, { token })
  const rotate = () => ask('POST', '/v1/admin/keys/rotate')
  const round = (running = control, signal = new AbortController().signal) => keepKeys(running.control, signal)
  const count = async (text: string, ...values: unknown[]) =>
    Number((await harness.pool.query(`select count(*) as count from ${text}`, values)).rows[0].count)
  /** Pretends that the newest key was made long ago. */
  const ripen = (seconds: number) =>
    harness.pool.query(
      `update sealing_keys set active_at = now() - make_interval(secs => $1)
       where version = (select max(version) from sealing_keys)`,
      [seconds],
    )
  const headers = () => ({ 'content-type': 'application/json', origin: control.url })
  const post = (path: string, body: object, more = {}) =>
    call(control.url, 'POST', `/api/auth/${path}`, { body, headers: { ...headers(), ...more } })
  async function token(): Promise<string> {
    const session = await post('sign-in/email', { email: 'olga@example.com', password: PASSWORD })
    return (await call(control.url, 'GET', '/api/auth/token', { token: session.body.token })).body.token
  }
  const me = async (jwt: string) => (await call(control.url, 'GET', '/v1/me', { token: jwt })).status

  it('is for operators, and once at a time', async () => {
    const tenant = await harness.tenant(control, 'tina')
    for (const credential of [tenant.key, tenant.jwt, 'nonsense']) {
      expect((await ask('POST', '/v1/admin/keys/rotate', credential)).status).toBe(401)
      expect((await ask('GET', '/v1/admin/keys', credential)).status).toBe(401)
    }
    expect((await ask('GET', '/v1/admin/keys')).body).toEqual({ current: 0, keys: [] })
  })

  it('reseals what was sealed before keys had versions, wherever it is interrupted, and signs with a new key', async () => {
    await post('sign-up/email', { email: 'olga@example.com', password: PASSWORD, name: 'olga' })
    const before = await token()
    const session = await post('sign-in/email', { email: 'olga@example.com', password: PASSWORD })
    const bearer = { authorization: `Bearer ${session.body.token}` }
    expect((await post('two-factor/enable', { password: PASSWORD }, bearer)).status).toBe(200)
    // What an earlier version of control stored.
    const legacy = new Seal(onlyKey(root), 'mails')
    await harness.pool.query(
      `insert into mails (sealed, due_at) select sealed, now() + interval '1 day' from unnest($1::bytea[]) sealed`,
      [Array.from({ length: MAILS }, (_, i) => legacy.close(JSON.stringify({ number: i })))],
    )
    const account = new Seal(onlyKey(root), 'certificates').close('PEM')
    await harness.pool.query(`insert into acme_accounts (directory_url, key) values ('https://acme.test', $1)`, [
      account,
    ])

    const answers = await Promise.all([rotate(), rotate(), rotate()])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409, 409])
    expect(answers.find(({ status }) => status === 202)?.body).toMatchObject({
      current: 0,
      keys: [{ version: 1, is_resealed: false }],
    })
    const other = await start()
    await round()
    expect(await count('mails where substring(sealed from 1 for 8) = $1', headerOf(1))).toBe(0)

    await ripen(0)
    // A process that stops after the first transactions, and one that never began, leave every value readable.
    const stopping = new AbortController()
    stopping.abort()
    await round(control, stopping.signal)
    await round(other)
    expect(await count('mails where substring(sealed from 1 for 8) = $1', headerOf(1))).toBeGreaterThanOrEqual(MAILS)
    const { rows } = await harness.pool.query(`select sealed from mails where due_at > now() + interval '1 hour'`)
    for (const running of [control, other]) {
      await running.control.keyring.refresh()
      const mails = rows.map((row) => running.control.outbox.open(row.sealed) as unknown as { number: number })
      expect(new Set(mails.map(({ number }) => number)).size).toBe(MAILS)
    }
    const [kept] = (await harness.pool.query('select key from acme_accounts')).rows
    expect(new Seal(control.control.keyring, 'certificates').open(kept.key)).toBe('PEM')

    const after = await token()
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before).kid)
    expect(await me(before)).toBe(200)
    expect(await eventually(async () => (await me(after)) === 200)).toBe(true)
    const { body: jwks } = await call(control.url, 'GET', '/api/auth/jwks')
    expect(jwks.keys.map(({ kid }: { kid: string }) => kid)).toEqual(
      expect.arrayContaining([decodeProtectedHeader(before).kid, decodeProtectedHeader(after).kid]),
    )
    expect((await post('two-factor/get-totp-uri', { password: PASSWORD }, bearer)).body.totpURI).toContain('otpauth:')
    await round()
    expect(await count(`jwks where "privateKey" not like '%$ba$1$%'`)).toBe(0)
    expect(await count(`"twoFactor" where secret not like '$ba$1$%' or "backupCodes" not like '$ba$1$%'`)).toBe(0)
  })

  it('removes older keys only when no value names them and every process has the new one', async () => {
    await round()
    expect((await rotate()).status).toBe(202)
    await ripen(0)
    await harness.pool.query(`insert into mails (sealed, due_at) values ($1, now() + interval '1 day')`, [
      control.control.keyring.current.version === 1 ? new Seal(control.control.keyring, 'mails').close('{}') : null,
    ])
    await round()
    await round()
    expect((await ask('GET', '/v1/admin/keys')).body).toMatchObject({
      current: 2,
      keys: [{ version: 1 }, { version: 2 }],
    })
    await ripen(600)
    await round()
    expect((await ask('GET', '/v1/admin/keys')).body.keys).toMatchObject([{ version: 2, is_resealed: true }])
    expect(await count('mails where substring(sealed from 1 for 8) <> $1', headerOf(2))).toBe(0)
    // A process reads unknown signing keys at most once a second.
    expect(await eventually(async () => (await me(await token())) === 200)).toBe(true)
    const { rows } = await harness.pool.query(
      `select target from audit_log where action = 'keys.rotated' order by target`,
    )
    expect(rows).toEqual([{ target: '1' }, { target: '2' }])
  })

  it('keeps the old keys while a value cannot be opened', async () => {
    expect((await rotate()).status).toBe(202)
    await ripen(600)
    await harness.pool.query(`insert into acme_accounts (directory_url, key) values ('broken', $1)`, [
      Buffer.alloc(64, 7),
    ])
    await expect(round()).rejects.toThrow(/authenticat/)
    expect((await ask('GET', '/v1/admin/keys')).body.keys).toHaveLength(2)
    await harness.pool.query(`delete from acme_accounts where directory_url = 'broken'`)
    await round()
    await round()
    expect((await ask('GET', '/v1/admin/keys')).body.keys).toHaveLength(1)
  })

  it(
    'takes a new secret in the data directory above the old one, which can then go',
    { tags: ['faults'] },
    async () => {
      const path = join(harness.dataDir, 'accounts-secret')
      const newer = 'a new secret of the data directory, long enough'
      await writeFile(path, `${newer}\n${root}`)
      await (await start()).stop()
      await writeFile(path, `${newer}\n`)
      const alone = await start()
      expect(alone.control.keyring.current.version).toBe(3)
      await expect(Keyring.open(harness.pool, [root])).rejects.toThrow('no secret of the data directory opens')
      await writeFile(path, root)
    },
  )
})
