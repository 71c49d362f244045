// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { insertMember } from '../../kinds/orgs/identity/membership-statements.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const BODY = { template: 'base' }
const MISMATCH = { status: 409, body: { error: 'idempotency key was used for a different request' } }

describe('Idempotency-Key', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let other: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    const limits = { default_plan: 'enterprise', rate_burst: 100_000, rate_per_second: 100_000 } as const
    control = await harness.control([agent], { limits })
    other = await harness.control([agent], { limits })
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  afterEach(() => {
    agent.onCreate = async () => undefined
  })

  const post = (
    key: string,
    path = '/v1/sandboxes',
    body: unknown = BODY,
    { token = alice.key, url = control.url } = {},
  ) => call(url, 'POST', path, { token, body, headers: { 'idempotency-key': key } })
  const count = async ({ key }: Tenant = alice) =>
    (await call(control.url, 'GET', '/v1/sandboxes?limit=1000', { token: key })).body.length as number
  const creates = () =>
    agent.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/sandboxes').length

  it('gives the first answer again, to the byte, and says so; also in another process', async () => {
    const before = await count()
    const first = await post('a')
    const again = [await post('a'), await post('a', undefined, undefined, { url: other.url })]
    expect(first.status).toBe(201)
    expect(first.headers.has('idempotent-replayed')).toBe(false)
    for (const answer of again) {
      expect(answer).toMatchObject({ status: 201, body: first.body })
      expect(answer.headers.get('idempotent-replayed')).toBe('true')
      expect(answer.headers.get('content-type')).toBe(first.headers.get('content-type'))
      expect(answer.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    }
    expect(await count()).toBe(before + 1)
  })

  it('makes one of many that come at once, to several processes', async () => {
    const before = creates()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        post('at once', undefined, undefined, { url: i % 2 === 0 ? control.url : other.url }),
      ),
    )
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.has('idempotent-replayed'))).toHaveLength(19)
    expect(creates()).toBe(before + 1)
  })

  it('lets one workspace take some of the places in which second requests wait, never all', async () => {
    let settle = () => {}
    const held = new Promise<void>((resolve) => (settle = resolve))
    agent.onCreate = async () => held.then(() => undefined)
    let refused = 0
    const crowd = Array.from({ length: 120 }, async () => {
      const answer = await post('crowd')
      if (answer.status === 409) refused += 1
      return answer
    })
    await eventually(() => refused >= 50, 10_000)
    const theirs = [0, 1].map(() => post('calm', undefined, undefined, { token: bob.key }))
    settle()
    expect((await Promise.all(theirs)).map(({ status }) => status)).toEqual([201, 201])
    const answers = await Promise.all(crowd)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]))
  })

  it('is refused for another body or another route', async () => {
    const { body } = await post('b')
    expect(await post('b', undefined, { template: 'minimal' })).toMatchObject(MISMATCH)
    expect(await post('b', undefined, '{"template": "base"}')).toMatchObject(MISMATCH)
    expect(await post('b', `/v1/sandboxes/${body.id}/fork`)).toMatchObject(MISMATCH)
    expect((await post('b', `/v1/sandboxes/${body.id}/fork`, {}, { token: bob.key })).status).toBe(404)
  })

  it('is a workspace’s own', async () => {
    const [ours, theirs] = [await post('shared'), await post('shared', undefined, undefined, { token: bob.key })]
    expect([ours.status, theirs.status]).toEqual([201, 201])
    expect(theirs.body.id).not.toBe(ours.body.id)
  })

  it('is the caller’s own: another member, or another key, that uses it gets nothing of the first answer', async () => {
    const member = await harness.tenant(control, 'member')
    await insertMember(harness.pool, alice.workspaceId, member.userId, 'member')
    const orgs = { 'x-offshoot-org': alice.workspaceId }
    const tokens = async ({ jwt }: Tenant, key: string) =>
      call(control.url, 'POST', '/v1/me/tokens', {
        token: jwt,
        body: { name: 'ci' },
        headers: { ...orgs, 'idempotency-key': key },
      })
    const [hers, theirs] = [await tokens(alice, 'guessed'), await tokens(member, 'guessed')]
    expect([hers.status, theirs.status]).toEqual([201, 201])
    expect(theirs.headers.has('idempotent-replayed')).toBe(false)
    expect(theirs.body.token).not.toBe(hers.body.token)
    const another = hers.body.token as string
    const [one, two] = [await post('by keys'), await post('by keys', undefined, undefined, { token: another })]
    expect([one.status, two.status]).toEqual([201, 201])
    expect(two.body.id).not.toBe(one.body.id)
  })

  it('is free again after a refusal, and after 24 hours', async () => {
    expect((await post('c', undefined, { template: 'nowhere' })).status).toBe(404)
    expect((await post('c', undefined, '{')).body.error).toBe('invalid json')
    agent.onCreate = async () => ({ status: 507, body: { error: 'insufficient host memory for sandbox' } })
    expect((await post('c')).status).toBe(507)
    agent.onCreate = async () => undefined
    const first = await post('c')
    expect(first.status).toBe(201)
    await harness.pool.query(
      `update idempotent_requests set created_at = now() - interval '24 hours 1 second' where key like '% c'`,
    )
    const next = await post('c', undefined, { template: 'minimal' })
    expect(next.status).toBe(201)
    expect(next.body.id).not.toBe(first.body.id)
  })

  describe('with Idempotency-Cancel', () => {
    const CANCELLED = { status: 409, body: { error: 'the request with this idempotency key was cancelled' } }
    const cancel = (key: string, body: unknown = BODY) =>
      call(control.url, 'POST', '/v1/sandboxes', {
        token: alice.key,
        body,
        headers: { 'idempotency-key': key, 'idempotency-cancel': 'true' },
      })

    it('makes nothing, also when the request itself arrives later', async () => {
      const before = creates()
      expect(await cancel('never')).toMatchObject(CANCELLED)
      expect(await post('never')).toMatchObject(CANCELLED)
      expect(await post('never', undefined, undefined, { url: other.url })).toMatchObject(CANCELLED)
      expect(creates()).toBe(before)
    })

    it('answers with what was made, also if it is still under way', async () => {
      const { body } = await post('made')
      expect(await cancel('made')).toMatchObject({ status: 201, body })
      let settle = () => {}
      const held = new Promise<void>((resolve) => (settle = resolve))
      const begun = new Promise<void>((resolve) => {
        agent.onCreate = async () => {
          resolve()
          await held
          return undefined
        }
      })
      const first = post('under way')
      await begun
      const cancelling = cancel('under way')
      settle()
      expect((await cancelling).body).toEqual((await first).body)
    })

    it('is refused for another request', async () => {
      await post('other')
      expect(await cancel('other', { template: 'minimal' })).toMatchObject(MISMATCH)
    })
  })

  it.each(['', 'x'.repeat(256), 'ü'])('is refused as %j', async (key) => {
    expect(await post(key)).toMatchObject({
      status: 400,
      body: { error: 'Idempotency-Key must be 1 to 255 printable ASCII characters' },
    })
  })

  it('serves every other create: forks, snapshots, keys, workspaces, invitations', async () => {
    const { body: parent } = await post('parent')
    for (const [path, body, token] of [
      [`/v1/sandboxes/${parent.id}/fork`, {}, alice.key],
      [`/v1/sandboxes/${parent.id}/fork-tree`, { count: 2 }, alice.key],
      [`/v1/sandboxes/${parent.id}/snapshots`, undefined, alice.key],
      ['/v1/me/tokens', { name: 'k' }, alice.jwt],
      ['/v1/orgs', { name: 'Mine' }, alice.jwt],
      [`/v1/orgs/${alice.workspaceId}/members`, { email: 'x@example.com' }, alice.jwt],
    ] as const) {
      const key = randomUUID()
      const [first, again] = [await post(key, path, body, { token }), await post(key, path, body, { token })]
      expect([path, first.status, again.status]).toEqual([path, 201, 201])
      expect(again.body).toEqual(first.body)
    }
  })

  it('keeps no secret in the clear', async () => {
    const { body } = await post('secret', '/v1/me/tokens', { name: 'k' }, { token: alice.jwt })
    const { rows } = await harness.pool.query('select * from idempotent_requests')
    const dump = rows.map((row) =>
      Object.values(row as object)
        .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
        .join(),
    )
    expect(dump.join()).not.toContain(body.token)
    expect(dump.join()).not.toContain(body.prefix)
  })

  describe('whose process died', () => {
    /** Leaves a claim as a killed process does: no living process has its number. */
    async function abandon(key: string, path: string, body: unknown, resourceId = randomUUID()): Promise<string> {
      await post(key, path, body)
      await harness.pool.query(
        `update idempotent_requests set creator = -1, status = null, answer = null, resource_id = $2 where key like '% ' || $1`,
        [key, resourceId],
      )
      return resourceId
    }

    it('before anything was made is carried out by the next', async () => {
      await abandon('early', '/v1/sandboxes', BODY)
      const before = creates()
      const answers = await Promise.all([
        post('early'),
        post('early'),
        post('early', undefined, undefined, { url: other.url }),
      ])
      expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
      expect(answers[0]?.status).toBe(201)
      expect(creates()).toBe(before + 1)
    })

    it('after it was made answers with what was made', async () => {
      const { body } = await post('late')
      await abandon('late', '/v1/sandboxes', BODY, body.id)
      const before = creates()
      const again = await post('late')
      expect(again).toMatchObject({ status: 201, body })
      expect((await post('late')).body).toEqual(again.body)
      expect(creates()).toBe(before)
    })

    it('in the middle is waited for until reconciliation has settled it', async () => {
      const { body } = await post('middle')
      await abandon('middle', '/v1/sandboxes', BODY, body.id)
      await harness.pool.query(`update sandboxes set status = 'creating' where id = $1`, [body.id])
      const again = post('middle')
      const state = await Promise.race([again.then(() => 'answered'), eventually(async () => 'waiting')])
      expect(state).toBe('waiting')
      await harness.pool.query(`update sandboxes set status = 'running' where id = $1`, [body.id])
      expect((await again).body.id).toBe(body.id)
    })

    it('answers that it is unfinished if the outcome is unknown', async () => {
      await abandon('org', '/v1/me/tokens', { name: 'k' })
      await post('org', '/v1/me/tokens', { name: 'k' }, { token: alice.jwt })
      await harness.pool.query(
        `update idempotent_requests set creator = -1, status = null, answer = null where key like '% org'`,
      )
      expect(await post('org', '/v1/me/tokens', { name: 'k' }, { token: alice.jwt })).toMatchObject({
        status: 409,
        body: {
          error: 'the first request with this idempotency key has not finished',
          detail: 'it was interrupted: look whether it made something, then use another key',
        },
      })
    })
  })
})
