import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('POST /v1/me/current-org', () => {
  let harness: Harness
  let control: RunningControl
  let other: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([])
    other = await harness.control([])
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    await harness.pool.query(
      `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'member', now())`,
      [bob.workspaceId, alice.userId],
    )
  })

  afterAll(async () => harness.stop())

  // Each process signs with its own address as issuer, so each accepts only its own tokens.
  const tokenOf = async ({ control: { accounts } }: RunningControl) => {
    const payload = { sub: alice.userId, org: alice.workspaceId }
    return (await accounts.api.signJWT({ body: { payload } })).token
  }
  const choose = (token: string, body: unknown) => call(control.url, 'POST', '/v1/me/current-org', { token, body })
  const current = async (running: RunningControl, headers = {}) =>
    (await call(running.url, 'GET', '/v1/me', { token: await tokenOf(running), headers })).body.org.id

  it('holds for all of the user’s tokens, at once and in every process', async () => {
    const org = { id: bob.workspaceId, slug: 'bob', name: 'bob', role: 'member', plan: expect.any(String) }
    expect(await choose(alice.jwt, { org_id: bob.workspaceId })).toMatchObject({ status: 200, body: { org } })
    for (let i = 0; i < 5; i++) {
      const [wanted, by] = i % 2 === 0 ? [alice, { slug: 'alice' }] : [bob, { org_id: bob.workspaceId, slug: 'alice' }]
      expect((await choose(alice.jwt, by)).status).toBe(200)
      expect(await current(control)).toBe(wanted.workspaceId)
      expect(await current(other)).toBe(wanted.workspaceId)
    }
    expect(await current(other, { 'x-offshoot-org': bob.workspaceId })).toBe(bob.workspaceId)
  })

  it('answers 404 for a workspace the user is not in, and 400 for none', async () => {
    for (const body of [{ org_id: alice.workspaceId }, { slug: 'alice' }, { org_id: 'nonsense' }, { slug: '' }]) {
      const { status, body: answer } = await choose(bob.jwt, body)
      expect({ status, answer }).toEqual({ status: 404, answer: { error: 'not found' } })
    }
    for (const body of [{}, { org_id: null }]) {
      expect(await choose(bob.jwt, body)).toMatchObject({ status: 400, body: { error: 'org_id required' } })
    }
    expect(await choose(bob.jwt, { org_id: 7 })).toMatchObject({
      status: 400,
      body: { error: 'org_id must be a string' },
    })
    expect(await choose(bob.key, { slug: 'bob' })).toMatchObject({ status: 401, body: { detail: 'jwt required' } })
  })

  it('ends with the membership', async () => {
    await choose(alice.jwt, { org_id: bob.workspaceId })
    await harness.pool.query('delete from member where "userId" = $1 and "organizationId" = $2', [
      alice.userId,
      bob.workspaceId,
    ])
    expect(await current(control)).toBe(alice.workspaceId)
  })
})
