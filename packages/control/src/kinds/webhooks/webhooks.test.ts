import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { newPath, webhookSetup } from '../../test/webhook-setup.ts'

const bodyOf = (route: string) => (route === '/redeliver' ? { since: '2026-01-01T00:00:00Z' } : undefined)

/** The routes of webhooks. */
describe('webhooks', () => {
  const { world, as, create } = webhookSetup()

  it('are created, listed, changed and deleted', async () => {
    const url = world.receiver.url(newPath())
    const made = await create({ url, events: ['deploy.*', 'build.failed'], objects: ['x'], description: 'ci' })
    const { secret, ...shown } = made
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(shown).toMatchObject({
      url,
      events: ['deploy.*', 'build.failed'],
      objects: ['x'],
      description: 'ci',
      enabled: true,
    })
    expect((await as('GET', `/v1/webhooks/${made.id}`)).body).toEqual(shown)
    expect((await as('GET', '/v1/webhooks')).body).toEqual([shown])
    expect((await as('GET', '/v1/webhooks?enabled=false')).body).toEqual([])
    const changed = (await as('PATCH', `/v1/webhooks/${made.id}`, { enabled: false, events: ['*'], objects: [] })).body
    expect(changed).toMatchObject({
      enabled: false,
      disabled_reason: 'user',
      events: ['*'],
      objects: [],
      description: 'ci',
    })
    expect(changed.disabled_at).not.toBeNull()
    expect((await as('PATCH', `/v1/webhooks/${made.id}`, { enabled: true })).body).toMatchObject({
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
    })
    const { rows } = await world.harness.pool.query('select secret from webhooks where id = $1', [made.id])
    expect(rows[0].secret.toString('latin1')).not.toContain(secret.slice(6))
    expect((await as('DELETE', `/v1/webhooks/${made.id}`)).status).toBe(204)
    expect((await as('GET', `/v1/webhooks/${made.id}`)).status).toBe(404)
  })

  it.each([
    [{}, 'url required'],
    [{ url: 5 }, 'url must be a string'],
    [{ url: '' }, 'url required'],
    [{ url: 'ftp://example.com/' }, 'url must be an http or https address'],
    [{ url: 'example.com' }, 'url must be an http or https address'],
    [{ url: 'https://' }, 'url must be an http or https address'],
    [{ url: 'https://user:secret@example.com/' }, 'url must not contain a user name or a password'],
    [{ url: `https://example.com/${'x'.repeat(2048)}` }, 'url must be at most 2048 characters'],
    [{ url: 'https://example.com/', events: [] }, 'events must not be empty'],
    [{ url: 'https://example.com/', events: '*' }, 'events must be an array'],
    [{ url: 'https://example.com/', events: [1] }, 'events must be strings'],
    [{ url: 'https://example.com/', events: ['sandbox.*.x'] }, /^events must be among /],
    [{ url: 'https://example.com/', events: Array(51).fill('*') }, 'events must be at most 50'],
    [{ url: 'https://example.com/', objects: [''] }, 'objects must not be empty'],
    [{ url: 'https://example.com/', objects: ['\0'] }, 'objects must be ids or names'],
    [{ url: 'https://example.com/', objects: Array(51).fill('x') }, 'objects must be at most 50'],
    [{ url: 'https://example.com/', description: 'x'.repeat(257) }, 'description must be at most 256 characters'],
  ])('refuse %j', async (body, error) => {
    const answer = await as('POST', '/v1/webhooks', body)
    expect(answer).toMatchObject({
      status: 400,
      body: { error: typeof error === 'string' ? error : expect.stringMatching(error) },
    })
  })

  it('refuse other wrong requests, and the ids of other workspaces', async () => {
    const { id } = await create({ url: world.receiver.url(newPath()) })
    const other = await create({ url: world.receiver.url(newPath()) })
    const { body: delivery } = await as('POST', `/v1/webhooks/${id}/test`)
    const wrong = [
      ['PATCH', '', { enabled: 'yes' }, 'enabled must be a boolean'],
      ['PATCH', '', { url: 'x' }, 'url must be an http or https address'],
      ['POST', '/rotate-secret', { overlap_seconds: -1 }, 'overlap_seconds must be >= 0'],
      ['POST', '/rotate-secret', { overlap_seconds: 604_801 }, 'overlap_seconds must be <= 604800'],
      ['POST', '/redeliver', {}, 'since required'],
      ['POST', '/redeliver', { since: 'yesterday' }, 'since must be an RFC 3339 timestamp'],
      ['GET', '/deliveries?status=lost', undefined, 'status must be one of pending, delivered, failed'],
    ] as const
    for (const [method, rest, body, error] of wrong) {
      expect(await as(method, `/v1/webhooks/${id}${rest}`, body)).toMatchObject({ status: 400, body: { error } })
    }
    const routes = [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate-secret'],
      ['POST', '/redeliver'],
      ['GET', '/deliveries'],
      ['GET', `/deliveries/${delivery.id}`],
      ['POST', `/deliveries/${delivery.id}/redeliver`],
    ] as const
    for (const [method, rest] of routes) {
      expect((await as(method, `/v1/webhooks/${id}${rest}`, bodyOf(rest), world.bob.key)).status).toBe(404)
      for (const nobody of [randomUUID(), 'x', '%2e%2e']) {
        expect((await as(method, `/v1/webhooks/${nobody}${rest}`, bodyOf(rest))).status).toBe(404)
      }
    }
    for (const each of [randomUUID(), 'x']) {
      expect((await as('GET', `/v1/webhooks/${id}/deliveries/${each}`)).status).toBe(404)
    }
    expect((await as('GET', `/v1/webhooks/${other.id}/deliveries/${delivery.id}`)).status).toBe(404)
    await as('PATCH', `/v1/webhooks/${id}`, { enabled: false })
    for (const rest of ['/test', '/redeliver', `/deliveries/${delivery.id}/redeliver`]) {
      expect(await as('POST', `/v1/webhooks/${id}${rest}`, { since: '2026-01-01T00:00:00Z' })).toMatchObject({
        status: 409,
        body: { detail: 'the webhook is disabled' },
      })
    }
  })

  it('need their own scopes', async () => {
    const url = world.receiver.url(newPath())
    const keyWith = async (scopes: string[]) =>
      (await as('POST', '/v1/me/tokens', { name: 'k', scopes }, world.alice.jwt)).body.token as string
    const reader = await keyWith(['webhooks:read'])
    const writer = await keyWith(['webhooks:write'])
    const others = await keyWith(['sandboxes:read', 'sandboxes:write'])
    expect((await as('GET', '/v1/webhooks', undefined, reader)).status).toBe(200)
    expect((await as('POST', '/v1/webhooks', { url }, reader)).status).toBe(403)
    expect((await as('POST', '/v1/webhooks', { url }, writer)).status).toBe(201)
    expect((await as('GET', '/v1/webhooks', undefined, others)).status).toBe(403)
  })

  it('are as many as the plan allows, also for concurrent creates', async () => {
    await world.harness.pool.query(
      `insert into workspace_accounts (workspace_id, plan, plan_source) values ($1, 'free', 'operator')
       on conflict (workspace_id) do update set plan = 'free'`,
      [world.alice.workspaceId],
    )
    const body = { url: world.receiver.url(newPath()) }
    const answers = await Promise.all(Array.from({ length: 6 }, () => as('POST', '/v1/webhooks', body)))
    const refused = answers.find(({ status }) => status === 429)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    expect(refused?.body).toEqual({ error: 'max webhooks reached', max: 3, active: 3 })
  })
})
