import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

describe('Idempotency-Key on volumes', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })
  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `volumes-${tenants}`)
  })
  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const post = (key: string, path: string, body?: unknown) =>
    call(control.url, 'POST', path, {
      token: tenant.key,
      headers: { 'idempotency-key': key },
      ...(body !== undefined && { body }),
    })
  const count = async () =>
    (await harness.pool.query('select id from volumes where workspace_id = $1', [tenant.workspaceId])).rows.length

  /** Leaves the claim as a process does that is killed before it has answered. */
  async function abandon(key: string, resourceId?: string): Promise<string> {
    const { rows } = await harness.pool.query(
      `update idempotent_requests set creator = -1, status = null, answer = null, resource_id = coalesce($2, resource_id)
       where key like '% ' || $1 and workspace_id = $3 returning resource_id`,
      [key, resourceId ?? null, tenant.workspaceId],
    )
    return rows[0].resource_id
  }

  const creates = [
    ['/v1/volumes', { name: 'made', size_mb: 300 }],
    ['/v1/volumes/origin/clone', { name: 'made' }],
    ['/v1/volumes/origin/snapshots', undefined],
  ] as const

  describe.each(creates)('POST %s', (path, body) => {
    beforeEach(async () => {
      expect((await post('origin', '/v1/volumes', { name: 'origin' })).status).toBe(201)
    })

    it('makes one of all requests with the key, at once and later, and refuses another under it', async () => {
      const answers = await Promise.all([post('k', path, body), post('k', path, body), post('k', path, body)])
      answers.push(await post('k', path, body))
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
      expect(new Set(answers.map(({ body: made }) => JSON.stringify(made))).size).toBe(1)
      expect(await count()).toBe(2)
      const { status, body: refused } = await post('k', '/v1/volumes', { name: 'else' })
      expect([status, refused.error]).toEqual([409, 'idempotency key was used for a different request'])
    })

    it('finds what a process had made that died before it answered', async () => {
      const first = await post('k', path, body)
      await abandon('k')
      expect(await post('k', path, body)).toMatchObject({ status: 201, body: first.body })
      expect(await count()).toBe(2)
    })

    it('makes it when the process that died had not', async () => {
      const first = await post('k', path, body)
      await harness.pool.query('delete from volumes where id = $1', [await abandon('k')])
      await abandon('k', randomUUID())
      const again = await post('k', path, body)
      expect(again).toMatchObject({ status: 201, body: { size_mb: first.body.size_mb } })
      expect(again.body.created_at).not.toBe(first.body.created_at)
      expect(await count()).toBe(2)
    })

    it('waits for reconciliation if the outcome is unknown', async () => {
      const first = await post('k', path, body)
      const id = await abandon('k')
      const set = (status: string) => harness.pool.query('update volumes set status = $2 where id = $1', [id, status])
      await set('creating')
      const again = post('k', path, body)
      const state = await Promise.race([again.then(() => 'answered'), eventually(async () => 'waiting')])
      expect(state).toBe('waiting')
      await set('ready')
      expect((await again).body).toEqual(first.body)
    })
  })

  it('is free again after a refusal', async () => {
    expect((await post('k', '/v1/volumes', { name: '' })).status).toBe(400)
    expect((await post('k', '/v1/volumes', { name: 'now' })).status).toBe(201)
  })
})
