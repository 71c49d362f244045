// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { setPlan } from '../billing/limits/set-plan.ts'
import { call, eventually, type Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { OrgHarness } from '../../test/org-harness.ts'

const UNKNOWN = { status: 404, body: { error: 'not found' } }

describe('workspaces', () => {
  let orgs: OrgHarness
  let harness: Harness
  let control: RunningControl
  let owner: Tenant
  let stranger: Tenant

  beforeAll(async () => {
    orgs = await OrgHarness.start()
    ;({ harness, control } = orgs)
    owner = await orgs.tenant('owner')
    stranger = await orgs.tenant('stranger')
  })

  afterAll(async () => orgs.stop())

  const ask: OrgHarness['ask'] = (...asked) => orgs.ask(...asked)
  const make = (token: string, body: unknown) => ask(token, 'POST', '', body)

  it('are made, listed, shown, renamed and deleted by their owner', async () => {
    const { status, body } = await make(owner.jwt, { name: 'Ünïcode & Söhne' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      slug: 'u-ni-code-so-hne',
      name: 'Ünïcode & Söhne',
      role: 'owner',
      plan: 'free',
    })
    expect((await ask(owner.jwt, 'GET', '')).body.at(-1)).toEqual(body)
    const shown = await ask(owner.jwt, 'GET', `/${body.id}`)
    const created_at = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/)
    expect(shown).toMatchObject({ status: 200, body: { ...body, members: 1, suspended: false, created_at } })
    const renamed = await ask(owner.jwt, 'PATCH', `/${body.id}`, { name: 'Sons', slug: 'sons' })
    expect(renamed).toMatchObject({ status: 200, body: { ...body, name: 'Sons', slug: 'sons' } })
    expect((await make(owner.jwt, { name: 'Other', slug: 'sons' })).body).toEqual({ error: 'slug already taken' })
    expect((await ask(owner.jwt, 'DELETE', `/${body.id}`)).status).toBe(204)
    expect(await ask(owner.jwt, 'GET', `/${body.id}`)).toMatchObject(UNKNOWN)
    expect(await ask(owner.jwt, 'DELETE', `/${body.id}`)).toMatchObject(UNKNOWN)
    expect((await make(owner.jwt, { name: 'Other', slug: 'sons' })).status).toBe(201)
  })

  it.each([
    [{}, 'name required'],
    [{ name: '' }, 'name required'],
    [{ name: '   ' }, 'name is required'],
    [{ name: 'x'.repeat(101) }, 'name must be at most 100 characters'],
    [{ name: 'a\r\nBcc: x@example.com' }, 'name must not contain control characters or half a surrogate pair'],
  ])('are refused for %j', async (body, error) => {
    expect(await make(owner.jwt, body)).toMatchObject({ status: 400, body: { error } })
  })

  it.each([
    'ab',
    'A-b',
    '-abc',
    'abc-',
    'a--b',
    'a/b',
    '../etc',
    'a.b',
    'admin',
    'personal-1',
    '12345',
    'a'.repeat(41),
    'ä-b-c',
  ])('are refused the slug %j', async (slug) => {
    const error =
      'slug must be 3 to 40 of a-z, 0-9 and single hyphens between them, not all digits, and no reserved word'
    expect(await make(owner.jwt, { name: 'x', slug })).toMatchObject({ status: 400, body: { error } })
    expect(await ask(owner.jwt, 'PATCH', `/${owner.workspaceId}`, { slug })).toMatchObject({
      status: 400,
      body: { error },
    })
  })

  it('keep the slug that the service gave, also when the change names it', async () => {
    const slug = 'personal-0123456789ab'
    const { jwt, workspaceId } = await orgs.tenant(slug)
    const changed = await ask(jwt, 'PATCH', `/${workspaceId}`, { name: 'Renamed', slug })
    expect(changed).toMatchObject({ status: 200, body: { name: 'Renamed', slug } })
    expect((await ask(jwt, 'PATCH', `/${workspaceId}`, { slug: `${slug}-2` })).status).toBe(400)
  })

  it('take no plan, id or owner from their maker', async () => {
    const { body } = await make(owner.jwt, {
      name: 'Mine',
      plan: 'enterprise',
      id: stranger.workspaceId,
      role: 'member',
    })
    expect(body).toMatchObject({ plan: 'free', role: 'owner' })
    expect(body.id).not.toBe(stranger.workspaceId)
  })

  it('are as many as the best of the owner’s plans allows, however many are asked for at once', async () => {
    const poor = await harness.tenant(control, 'poor')
    const refusal = { error: 'org limit reached: your free plan allows 1 org(s). Upgrade to create more.' }
    expect(await make(poor.jwt, { name: 'Second' })).toMatchObject({ status: 402, body: refusal })
    await setPlan(harness.pool, poor.workspaceId as WorkspaceId, 'pro')
    const answers = await Promise.all(Array.from({ length: 8 }, () => make(poor.jwt, { name: 'More' })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(4)
    for (const { status, body } of answers.filter((answer) => answer.status !== 201)) {
      expect({ status, body }).toEqual({
        status: 402,
        body: { error: 'org limit reached: your pro plan allows 5 org(s). Upgrade to create more.' },
      })
    }
    expect(new Set(answers.flatMap(({ body }) => body.slug ?? [])).size).toBe(4)
  })

  it('that are deleted end what is inside first, in the making or not, and then go', async () => {
    const doomed = await orgs.join(owner, 'dora')
    const create = () => call(control.url, 'POST', '/v1/sandboxes', { token: doomed.key, body: { template: 'base' } })
    const { body: kept } = await create()
    await create()
    const snapshot = await call(control.url, 'POST', `/v1/sandboxes/${kept.id}/snapshots`, { token: doomed.key })
    expect(snapshot.status).toBe(201)
    const volume = await call(control.url, 'POST', '/v1/volumes', { token: doomed.key, body: { name: 'data' } })
    expect(volume.status).toBe(201)
    const begun = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    orgs.agent.onCreate = async () => {
      begun.resolve()
      await goOn.promise
      return undefined
    }
    const late = create()
    await begun.promise
    expect((await ask(doomed.jwt, 'DELETE', `/${doomed.workspaceId}`)).status).toBe(204)
    expect(await ask(doomed.jwt, 'GET', `/${doomed.workspaceId}`)).toMatchObject(UNKNOWN)
    const list = () => call(control.url, 'GET', '/v1/sandboxes', { token: doomed.key })
    expect(await eventually(async () => (await list()).status === 401)).toBe(true)
    goOn.resolve()
    await late
    const gone = async () => {
      const { rowCount } = await harness.pool.query('select from organization where id = $1', [doomed.workspaceId])
      return rowCount === 0
    }
    expect(await eventually(gone)).toBe(true)
    const { sandboxes, snapshots, volumes } = orgs.agent.state
    const left = [...sandboxes.values(), ...snapshots.values(), ...volumes.values()]
    expect(left.filter(({ workspace_id: id }) => id === doomed.workspaceId)).toEqual([])
    const { rows } = await harness.pool.query(
      `select action, actor_type from audit_log where workspace_id = $1 and target = $1::text order by created_at`,
      [doomed.workspaceId],
    )
    expect(rows).toEqual([
      { action: 'org.deleted', actor_type: 'user' },
      { action: 'org.emptied', actor_type: 'service' },
    ])
    const { body } = await call(control.url, 'GET', '/v1/me', { token: doomed.jwt })
    expect(body.orgs.map(({ id }: { id: string }) => id)).toEqual([owner.workspaceId])
  })
})
