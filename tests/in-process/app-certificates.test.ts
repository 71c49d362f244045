/**
 * Certificates of app domains: control orders them, the edge answers the challenges and presents them. The authority
 * speaks RFC 8555.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { call, eventually } from '@offshoot/control/test/harness'
import { madeCertificate } from '@offshoot/edge/test/made-certificate'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CertificateEnvironment, domainsOf } from '../setup/certificate-environment.ts'

describe('certificates of domains', () => {
  let world: CertificateEnvironment

  beforeAll(async () => {
    world = await CertificateEnvironment.start()
  })
  afterAll(() => world.stop())

  it('are ordered once a domain is proved, and served by name', async () => {
    const domain = 'www.example.com'
    const { record } = (await world.add(domain)).body
    expect(await world.certificateOf(domain)).toBe(null)
    expect(await world.isTrusted(domain)).toBe(false)
    world.parts.dns.texts.set(record.name, [record.value])
    await world.add(domain)
    expect(await world.until('ready', domain)).toEqual({
      source: 'acme',
      status: 'ready',
      error: null,
      expires_at: expect.stringMatching(/Z$/),
      next_order_at: expect.stringMatching(/Z$/),
    })
    await eventually(() => world.isTrusted(domain))
    expect(world.parts.sights.fetched.at(-1)).toMatch(/^www\.example\.com\/\.well-known\/acme-challenge\//)
    expect(world.parts.acme.issued).toEqual([[domain]])
    const { rows } = await world.parts.harness.pool.query('select c::text as row from app_certificates c')
    expect(rows[0].row).not.toContain('PRIVATE KEY')
  })

  it('leave what is not theirs to the app', async () => {
    const path = world.parts.sights.fetched.at(-1)?.replace('www.example.com', '') ?? ''
    for (const asked of [path, '/.well-known/acme-challenge/x', '/.well-known/acme-challenge/'])
      expect((await world.parts.edge.ask(1, asked, { headers: { host: 'www.example.com' } })).body).toContain(
        'No code deployed yet',
      )
    for (const internal of ['certificates/www.example.com', 'acme-answers/www.example.com/x'])
      expect((await call(world.parts.api.url, 'GET', `/internal/${internal}`)).status).toBe(404)
  })

  it(
    'that the authority refuses say why, and are tried again, in a while or when it is asked for',
    { tags: ['faults'] },
    async () => {
      const domain = 'late.example.com'
      world.parts.sights.shown = 'the page of somebody else'
      await world.prove(domain)
      const failed = await world.until('failed', domain)
      expect(failed).toMatchObject({ source: 'acme', error: `no proof of ${domain}`, expires_at: null })
      expect(Date.parse(failed.next_order_at)).toBeGreaterThan(Date.now() + 60_000)
      const served = await world.shownTo(domain, await readFile(join(world.parts.edge.folder, 'authority.pem'), 'utf8'))
      expect(served.isTrusted).toBe(true)

      world.parts.sights.shown = undefined
      const orders = world.parts.acme.ordered.length
      const { certificate } = (await world.add(domain)).body
      expect(Date.parse(certificate.next_order_at)).toBeGreaterThan(Date.now() + 60_000)
      expect(world.parts.acme.ordered).toHaveLength(orders)
      await world.parts.harness.pool.query(
        `update app_certificates set tried_at = now() - interval '1 hour' where domain = $1`,
        [domain],
      )
      await world.add(domain)
      await world.until('ready', domain)
      await eventually(() => world.isTrusted(domain))
    },
  )

  it('stop being ordered when no order succeeds, until their owner asks again', { tags: ['faults'] }, async () => {
    const domain = 'never.example.com'
    world.parts.sights.shown = ''
    await world.prove(domain)
    await world.until('failed', domain)
    const again = `update app_certificates set failures = 11, due_at = now() - interval '1 hour', tried_at = now() - interval '1 hour'
      where domain = $1`
    await world.parts.harness.pool.query(again, [domain])
    await eventually(async () => (await world.certificateOf(domain))?.next_order_at === null)
    expect(await world.certificateOf(domain)).toMatchObject({ status: 'failed', next_order_at: null })
    world.parts.sights.shown = undefined
    await world.parts.harness.pool.query(
      `update app_certificates set tried_at = now() - interval '1 hour' where domain = $1`,
      [domain],
    )
    await world.add(domain)
    await world.until('ready', domain)
  })

  it('are renewed, and replaced in one step', async () => {
    const domain = 'www.example.com'
    const before = await world.shownTo(domain)
    await world.parts.harness.pool.query('update app_certificates set due_at = now() where domain = $1', [domain])
    await eventually(async () => (await world.shownTo(domain)).fingerprint !== before.fingerprint)
    expect(await world.isTrusted(domain)).toBe(true)
    // If the renewal fails, the old certificate stays in use, and the API shows the error.
    world.parts.sights.shown = ''
    await world.parts.harness.pool.query('update app_certificates set due_at = now() where domain = $1', [domain])
    await eventually(async () => (await world.certificateOf(domain)).error !== null)
    world.parts.sights.shown = undefined
    expect(await world.certificateOf(domain)).toMatchObject({ status: 'ready', error: `no proof of ${domain}` })
    expect(await world.isTrusted(domain)).toBe(true)
  })

  it('are so many in an hour for one workspace, and no more', async () => {
    const many = `insert into certificate_orders (workspace_id) select $1 from generate_series(1, 20)`
    await world.parts.harness.pool.query(many, [world.parts.alice.workspaceId])
    const orders = world.parts.acme.ordered.length
    await world.prove('much.example.com')
    const failed = await world.until('failed', 'much.example.com')
    expect(failed.error).toBe('the workspace has ordered too many certificates within an hour')
    expect(world.parts.acme.ordered).toHaveLength(orders)
    await world.parts.harness.pool.query('delete from certificate_orders')
  })

  it('are the app’s that the domain is, and go with it', async () => {
    const domain = 'moved.example.com'
    await world.prove(domain)
    await world.until('ready', domain)
    const first = await world.shownTo(domain)
    const other = await world.created()
    await world.prove(domain, other)
    await world.until('ready', domain, other)
    await eventually(async () => (await world.shownTo(domain)).fingerprint !== first.fingerprint)
    expect((await world.as('DELETE', `${domainsOf(other)}/${domain}`)).status).toBe(204)
    await eventually(async () => !(await world.isTrusted(domain)))
    const { rows } = await world.parts.harness.pool.query('select from app_certificates where app_id = $1', [other])
    expect(rows).toEqual([])
  })

  it('may be one’s own', { tags: ['faults'] }, async () => {
    const domain = 'own.example.com'
    const { cert, key } = await madeCertificate(['*.example.com'])
    const own = { certificate: `some text\n${cert}`, private_key: key }
    const { status, body } = await world.add(domain, own)
    expect([status, body.status, body.certificate]).toEqual([
      201,
      'pending',
      { source: 'given', status: 'ready', error: null, expires_at: expect.stringMatching(/Z$/), next_order_at: null },
    ])
    expect(JSON.stringify(body)).not.toContain('BEGIN')
    expect((await world.shownTo(domain, cert)).isTrusted).toBe(false)
    await world.prove(domain)
    await eventually(async () => (await world.shownTo(domain, cert)).isTrusted)
    // Trusted through its chain, which ends at the authority's own certificate.
    const issued = await world.parts.authority.issue([domain])
    await world.add(domain, { certificate: issued.cert, private_key: issued.key })
    await eventually(() => world.isTrusted(domain))
    expect(world.parts.acme.ordered.flat()).not.toContain(domain)

    expect((await world.as('DELETE', `${domainsOf(world.app)}/${domain}/certificate`)).status).toBe(204)
    expect((await world.as('DELETE', `${domainsOf(world.app)}/${domain}/certificate`)).status).toBe(404)
    await eventually(() => world.parts.acme.issued.flat().includes(domain))
  })

  it('that are one’s own are refused when they could not be served', { tags: ['faults'] }, async () => {
    const [good, other] = [await madeCertificate(['a.example.com']), await madeCertificate(['a.example.com'])]
    const past = await madeCertificate(['a.example.com'], [-3, -1])
    const future = await madeCertificate(['a.example.com'], [1, 3])
    const elsewhere = await madeCertificate(['b.example.com', '*.a.example.com'])
    const before = (await world.as('GET', domainsOf(world.app))).body
    const refused = [
      [good.cert, undefined, 'private_key required'],
      [undefined, good.key, 'certificate required'],
      [7, good.key, 'certificate must be a string'],
      ['x'.repeat(65_537), good.key, 'certificate must be at most 65536 characters'],
      ['', good.key, 'certificate must be PEM'],
      ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', good.key, 'certificate must be PEM'],
      [good.cert.repeat(9), good.key, 'certificate must have at most 8 certificates'],
      [good.cert, 'x', 'private_key must be PEM, without a passphrase'],
      [good.cert, other.key, 'private_key is not that of certificate'],
      [past.cert, past.key, 'certificate has expired'],
      [future.cert, future.key, 'certificate is not valid yet'],
      [elsewhere.cert, elsewhere.key, 'certificate is not for a.example.com'],
      [
        good.cert + elsewhere.cert,
        good.key,
        'certificate must be followed by those that vouch for it, each for the one before',
      ],
    ] as const
    for (const [certificate, key, error] of refused) {
      const answer = await world.add('a.example.com', { certificate, private_key: key })
      expect([answer.status, answer.body]).toEqual([400, { error }])
    }
    expect((await world.as('GET', domainsOf(world.app))).body).toEqual(before)
    const bob = await world.parts.harness.tenant(world.parts.api, 'bob')
    const path = `${domainsOf(world.app)}/www.example.com/certificate`
    expect((await call(world.parts.api.url, 'DELETE', path, { token: bob.key })).status).toBe(404)
  })

  it('come all the same when control is killed at any step of an order', { tags: ['long'] }, async () => {
    await world.stopOrdering()
    const other = await world.created()
    const child = await world.orderInProcess()
    const steps = ['orders', 'challenge', 'finalize', 'certificate']
    for (const step of steps) {
      const held = world.parts.acme.holdNext(step)
      await world.prove(`${step}.example.com`, other)
      await held
    }
    child.kill('SIGKILL')
    await once(child, 'exit')
    await world.startOrdering()
    for (const step of steps) {
      const domain = `${step}.example.com`
      await world.until('ready', domain, other)
      await eventually(() => world.isTrusted(domain))
      // If control lost the order's address, it makes a new order. Otherwise it resumes the order.
      expect(world.parts.acme.ordered.filter(([name]) => name === domain)).toHaveLength(step === 'orders' ? 2 : 1)
    }
  })

  it('are served on while control is away, and what is asked of it then is for the app', async () => {
    const { api, edge } = world.parts
    const domain = 'www.example.com'
    expect(await world.isTrusted(domain)).toBe(true)
    await api.stop()
    expect(await world.isTrusted(domain)).toBe(true)
    const { body } = await edge.ask(1, '/.well-known/acme-challenge/abcdefghijklmnopqrstuv', {
      headers: { host: domain },
    })
    expect(body).toContain('No code deployed yet')
  })
})
