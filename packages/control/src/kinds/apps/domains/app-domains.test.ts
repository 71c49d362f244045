import { randomUUID } from 'node:crypto'
import { MAX_APP_DOMAINS } from '@offshoot/contract/app-domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { edgeApps } from '../edge-app-statements.ts'
import { DnsServer } from '../../../test/dns-server.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('domains of apps', () => {
  let harness: Harness
  let agent: FakeAgent
  let dns: DnsServer
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant
  let app: string

  beforeAll(async () => {
    agent = await FakeAgent.start({ templates: ['base', 'app'] })
    dns = await DnsServer.start()
    harness = await Harness.start()
    control = await harness.control([agent], { dns_servers: [dns.address] })
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    app = await created()
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
    dns.stop()
  })

  const as = (tenant: Tenant, method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const add = (domain: unknown, id = app, tenant = alice) => as(tenant, 'POST', `/v1/apps/${id}/domains`, { domain })
  const list = async (id = app) => (await as(alice, 'GET', `/v1/apps/${id}/domains`)).body
  const served = async (id: string) => (await edgeApps(harness.pool, [id]))[0]?.domains

  async function created(tenant = alice): Promise<string> {
    const body = { git_url: 'https://git.example.com/site', name: randomUUID() }
    return (await as(tenant, 'POST', '/v1/apps', body)).body.id
  }

  it('say which record proves them, and are served once it is there', async () => {
    const { status, body } = await add('WWW.Example.com.')
    expect([status, body]).toEqual([
      201,
      {
        domain: 'www.example.com',
        status: 'pending',
        record: {
          type: 'TXT',
          name: '_offshoot.www.example.com',
          value: expect.stringMatching(/^offshoot-app=[0-9a-f]{40}$/),
        },
        url: 'http://www.example.com:8081',
        created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
        verified_at: null,
        certificate: null,
      },
    ])
    expect(await list()).toEqual([body])
    expect(await served(app)).toEqual([])

    dns.texts.set(body.record.name, ['v=spf1 -all', `${body.record.value}x`])
    expect((await add('www.example.com')).body).toEqual(body)

    dns.texts.set(body.record.name, ['v=spf1 -all', body.record.value])
    const verified = (await add('www.example.com')).body
    expect(verified).toEqual({ ...body, status: 'verified', verified_at: expect.stringMatching(/Z$/) })
    expect(await list()).toEqual([verified])
    expect(await served(app)).toEqual(['www.example.com'])

    // A verified domain stays verified, also if the DNS does not answer.
    dns.texts.delete(body.record.name)
    expect((await add('www.example.com')).body).toEqual(verified)
  })

  it('are the app’s for which they were proved last, also when two prove them at once', async () => {
    const other = await created(bob)
    const domain = 'moved.example.com'
    const records = [(await add(domain)).body.record, (await add(domain, other, bob)).body.record]
    expect(records[0].value).not.toBe(records[1].value)
    dns.texts.set(records[0].name, [records[0].value])
    expect((await add(domain)).body.status).toBe('verified')
    expect((await add(domain, other, bob)).body.status).toBe('pending')

    dns.texts.set(records[0].name, [records[1].value])
    expect((await add(domain, other, bob)).body.status).toBe('verified')
    expect([await served(app), await served(other)]).toEqual([['www.example.com'], [domain]])
    expect((await list()).find((row: { domain: string }) => row.domain === domain).status).toBe('pending')

    dns.texts.set(
      records[0].name,
      records.map(({ value }) => value),
    )
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all([add(domain), add(domain, other, bob)])
      expect(answers.map(({ status }) => status)).toEqual([201, 201])
      const owners = [...((await served(app)) ?? []), ...((await served(other)) ?? [])]
      expect(owners.filter((each) => each === domain)).toHaveLength(1)
    }
  })

  it('are taken away, and go with their app', async () => {
    const id = await created()
    const { record } = (await add('gone.example.com', id)).body
    dns.texts.set(record.name, [record.value])
    await add('gone.example.com', id)
    expect(await served(id)).toEqual(['gone.example.com'])
    const path = `/v1/apps/${id}/domains`
    expect((await as(alice, 'DELETE', `${path}/GONE.example.com`)).status).toBe(204)
    expect([await served(id), await list(id)]).toEqual([[], []])
    expect((await as(alice, 'DELETE', `${path}/gone.example.com`)).status).toBe(404)
    expect((await as(alice, 'DELETE', `${path}/%00`)).status).toBe(404)
    for (const [query, body] of [
      ['?domain=Gone.example.com', undefined],
      ['', { domain: 'gone.example.com' }],
    ] as const) {
      await add('gone.example.com', id)
      expect((await as(alice, 'DELETE', path + query, body)).status).toBe(204)
      expect((await as(alice, 'DELETE', path + query, body)).status).toBe(404)
    }
    expect(await as(alice, 'DELETE', path)).toMatchObject({ status: 400, body: { error: 'domain required' } })

    // The domain has a new token now, so the old record does not verify it.
    expect((await add('gone.example.com', id)).body.status).toBe('pending')
    expect((await as(alice, 'DELETE', `/v1/apps/${id}`)).status).toBe(204)
    expect((await add('gone.example.com', id)).status).toBe(404)
    const { rows } = await harness.pool.query('select from app_domains where app_id = $1', [id])
    expect(rows).toEqual([])
  })

  it.each([
    [undefined, 'domain required'],
    ['', 'domain required'],
    [null, 'domain required'],
    [7, 'domain must be a string'],
    ['x'.repeat(255), 'domain must be at most 254 characters'],
    ['localhost', 'domain must be a host name such as www.example.com'],
    ['127.0.0.1', 'domain must be a host name such as www.example.com'],
    ['*.example.com', 'domain must be a host name such as www.example.com'],
    ['a..example.com', 'domain must be a host name such as www.example.com'],
    ['-a.example.com', 'domain must be a host name such as www.example.com'],
    ['exämple.com', 'domain must be a host name such as www.example.com'],
    ['example.com/x', 'domain must be a host name such as www.example.com'],
    ['www.example.com\0', 'domain must be a host name such as www.example.com'],
    ['3000-x.localhost', 'domain must not be below localhost'],
  ])('refuse %j', async (domain, error) => {
    const answer = await add(domain)
    expect([answer.status, answer.body]).toEqual([400, { error }])
  })

  it('are hidden from other workspaces, and answer 404 for an unknown app', async () => {
    const before = dns.asked
    for (const id of [app, randomUUID(), 'x']) {
      expect((await add('bobs.example.com', id, bob)).status).toBe(404)
      expect((await as(bob, 'GET', `/v1/apps/${id}/domains`)).status).toBe(404)
      expect((await as(bob, 'DELETE', `/v1/apps/${id}/domains/www.example.com`)).status).toBe(404)
    }
    expect(dns.asked).toBe(before)
    expect(await served(app)).toContain('www.example.com')
  })

  it('are so many and no more, also when they come at once', async () => {
    const id = await created()
    const answers = await Promise.all(
      Array.from({ length: MAX_APP_DOMAINS + 4 }, (_each, at) => add(`n${at}.example.com`, id)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX_APP_DOMAINS)
    const refused = answers.filter(({ status }) => status !== 201)
    for (const { status, body } of refused)
      expect([status, body]).toEqual([
        429,
        { error: 'max domains reached', max: MAX_APP_DOMAINS, active: MAX_APP_DOMAINS },
      ])
    // An existing domain can still be checked again.
    const [{ domain }] = await list(id)
    expect((await add(domain, id)).status).toBe(201)
  })
})
