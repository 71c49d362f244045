// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { addSnapshot } from '../../../test/fake-checkpoints.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('snapshots', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let other: Tenant
  let tenants = 0

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })

  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    other = await harness.tenant(control, `other-${tenants}`)
    agent.onAction = async () => undefined
    agent.onCreate = async () => undefined
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })
  const create = (body: object = {}) => ask('POST', '/v1/sandboxes', { template: 'base', ...body })
  const sandbox = async (): Promise<string> => (await create()).body.id
  const take = async (of: string) => (await ask('POST', `/v1/sandboxes/${of}/snapshots`)).body
  const rowsOf = async (): Promise<{ id: string; status: string }[]> => {
    const { rows } = await harness.pool.query('select id, status from snapshots where workspace_id = $1', [
      tenant.workspaceId,
    ])
    return rows
  }
  const insertRow = async (status: string, creator = 0): Promise<string> => {
    const id = randomUUID()
    await harness.pool.query(
      `insert into snapshots (id, workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, size_bytes, origin, status)
       values ($1, $2, $3, $1, $4, 'base', 1, 512, $6, 'user', $5)`,
      [id, tenant.workspaceId, agent.state.agentId, creator, status, status === 'ready' ? 1 : null],
    )
    return id
  }

  describe('POST /v1/sandboxes/{id}/snapshots', () => {
    it('answers 201 with every field, and is found again', async () => {
      const id = await sandbox()
      const { status, body } = await ask('POST', `/v1/sandboxes/${id}/snapshots`)
      expect(status).toBe(201)
      expect(body).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: null,
        sandbox_id: id,
        template: 'base',
        cpu: 1,
        memory_mb: 512,
        size_bytes: 4096,
        origin: 'user',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      })
      expect(await ask('GET', `/v1/snapshots/${body.id}`)).toMatchObject({ status: 200, body })
    })

    it('refuses a body that is no object, an unknown sandbox, and another workspace’s', async () => {
      const id = await sandbox()
      const path = `/v1/sandboxes/${id}/snapshots`
      expect(await ask('POST', path, '[]')).toMatchObject({ status: 400, body: { error: 'invalid json' } })
      expect(await ask('POST', path, {}, other.key)).toMatchObject({ status: 404, body: { error: 'not found' } })
      expect((await ask('POST', `/v1/sandboxes/${randomUUID()}/snapshots`)).status).toBe(404)
      await harness.pool.query(`update sandboxes set status = 'failed' where id = $1`, [id])
      expect(await ask('POST', path)).toMatchObject({
        status: 404,
        body: { error: 'sandbox not found or not running' },
      })
      expect(await rowsOf()).toEqual([])
    })

    it.each([
      [507, 507],
      [409, 409],
      [500, 500],
      [503, 502],
    ])('leaves no row when the agent answers %i', async (status, answered) => {
      const id = await sandbox()
      agent.onAction = async () => ({ status, body: { error: 'no' } })
      expect((await ask('POST', `/v1/sandboxes/${id}/snapshots`)).status).toBe(answered)
      expect(await rowsOf()).toEqual([])
    })

    it('several at once are several', async () => {
      const id = await sandbox()
      const taken = await Promise.all(Array.from({ length: 5 }, () => take(id)))
      expect(new Set(taken.map((each) => each.id)).size).toBe(5)
    })
  })

  describe('GET /v1/snapshots', () => {
    it('lists the workspace’s own, newest first, in pages; those of one sandbox', async () => {
      const [a, b] = [await sandbox(), await sandbox()]
      const taken: string[] = []
      for (const each of [a, b, a]) taken.unshift((await take(each)).id)
      const ids = (answer: { body: { id: string }[] }) => answer.body.map(({ id }) => id)
      expect(ids(await ask('GET', '/v1/snapshots'))).toEqual(taken)
      expect(ids(await ask('GET', `/v1/snapshots?sandbox_id=${a}`))).toEqual([taken[0], taken[2]])
      expect((await ask('GET', '/v1/snapshots', undefined, other.key)).body).toEqual([])
      const first = await ask('GET', `/v1/snapshots?limit=1&sandbox_id=${a}`)
      const next = /^<(http:[^>]+)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
      expect(next.startsWith(`${control.url}/v1/snapshots?`)).toBe(true)
      const second = await ask('GET', next.slice(control.url.length))
      expect([...ids(first), ...ids(second)]).toEqual([taken[0], taken[2]])
      expect(second.headers.get('link')).toBeNull()
    })

    it.each([
      ['?limit=0', 'limit must be an integer from 1 to 1000'],
      ['?limit=x', 'limit must be an integer from 1 to 1000'],
      ['?cursor=x', 'cursor is not one this list gave out'],
      ['?sandbox_id=a&sandbox_id=b', 'sandbox_id must be given once'],
      ['?name=a&name=b', 'name must be given once'],
    ])('refuses %s', async (query, error) => {
      expect(await ask('GET', `/v1/snapshots${query}`)).toMatchObject({ status: 400, body: { error } })
    })

    it.each(['nothing', '%00', randomUUID()])('has none of sandbox %s', async (id) => {
      expect(await ask('GET', `/v1/snapshots?sandbox_id=${id}`)).toMatchObject({ status: 200, body: [] })
    })
  })

  it('outlives its sandbox, and is deleted once', async () => {
    const id = await sandbox()
    const taken = await take(id)
    await ask('DELETE', `/v1/sandboxes/${id}`)
    expect((await ask('GET', `/v1/snapshots/${taken.id}`)).body).toEqual(taken)
    expect(await ask('DELETE', `/v1/snapshots/${taken.id}`, undefined, other.key)).toMatchObject({ status: 404 })
    expect(await ask('DELETE', `/v1/snapshots/${taken.id}`)).toMatchObject({ status: 204, body: '' })
    expect(agent.state.snapshots.has(taken.id)).toBe(false)
    for (const method of ['GET', 'DELETE']) {
      expect(await ask(method, `/v1/snapshots/${taken.id}`)).toMatchObject({
        status: 404,
        body: { error: 'not found' },
      })
    }
  })

  it.each(['x', '..%2f', '%00', randomUUID()])('there is none called %s', async (id) => {
    for (const method of ['GET', 'DELETE']) expect((await ask(method, `/v1/snapshots/${id}`)).status).toBe(404)
  })

  it('is not deleted while its agent is away', async () => {
    const taken = await take(await sandbox())
    agent.onAction = async () => ({ status: 503, body: { error: 'shutting down' } })
    expect(await ask('DELETE', `/v1/snapshots/${taken.id}`)).toMatchObject({ status: 502 })
    expect((await ask('GET', `/v1/snapshots/${taken.id}`)).status).toBe(200)
  })

  describe('create with from_snapshot', () => {
    it('boots from it, on its agent, and says so', async () => {
      const taken = await take(await sandbox())
      const { status, body } = await create({ from_snapshot: taken.id, metadata: { a: 'b' } })
      expect(status).toBe(201)
      expect(body).toMatchObject({ from_snapshot: taken.id, template: 'base', metadata: { a: 'b' }, parent_id: null })
      expect(agent.state.sandboxes.get(body.id)).toMatchObject({ from_snapshot: taken.id })
    })

    it.each([
      ['unknown', async () => randomUUID()],
      ['malformed', async () => 'latest'],
      ['deleted', async () => deleted()],
    ])('answers 404 for an %s one', async (_name, name) => {
      const id = await name()
      const detail = `unknown snapshot: ${id}`
      expect(await create({ from_snapshot: id })).toMatchObject({ status: 404, body: { error: 'not found', detail } })
    })

    const deleted = async (): Promise<string> => {
      const taken = await take(await sandbox())
      await ask('DELETE', `/v1/snapshots/${taken.id}`)
      return taken.id
    }

    it('answers 404 for another workspace’s', async () => {
      const taken = await take(await sandbox())
      const answer = await ask('POST', '/v1/sandboxes', { template: 'base', from_snapshot: taken.id }, other.key)
      expect(answer).toMatchObject({ status: 404, body: { detail: `unknown snapshot: ${taken.id}` } })
    })

    it('takes the template of the snapshot, and needs no other', async () => {
      const taken = await take(await sandbox())
      const answer = await ask('POST', '/v1/sandboxes', { from_snapshot: taken.id })
      expect(answer).toMatchObject({ status: 201, body: { template: 'base', from_snapshot: taken.id } })
    })

    it('answers 400 for another template than its own', async () => {
      const taken = await take(await sandbox())
      const error = 'template must be base, the template of the snapshot'
      const answer = await create({ from_snapshot: taken.id, template: 'minimal' })
      expect(answer).toMatchObject({ status: 400, body: { error } })
    })

    it.each([
      [404, 404],
      [409, 409],
      [507, 507],
      [500, 500],
    ])('says why its agent could not, and leaves no row: %i', async (status, answered) => {
      const taken = await take(await sandbox())
      agent.onCreate = async () => ({ status, body: { error: 'the snapshot was changed on disk' } })
      const answer = await create({ from_snapshot: taken.id })
      expect(answer.status).toBe(answered)
      if (status === 409) expect(answer.body.error).toBe('the snapshot was changed on disk')
      const { rows } = await harness.pool.query('select id from sandboxes where from_snapshot = $1', [taken.id])
      expect(rows).toEqual([])
    })
  })

  describe('reconciliation', () => {
    it('deletes one whose row was removed, and leaves those that have one', async () => {
      const stray = randomUUID()
      const of = await sandbox()
      const taken = await take(of)
      await harness.recordRemoval(agent, stray)
      addSnapshot(agent, { id: of, workspace_id: tenant.workspaceId, template: 'base' }, stray, 'user')
      agent.cutStreams()
      await eventually(() => !agent.state.snapshots.has(stray))
      expect(agent.state.snapshots.has(taken.id)).toBe(true)
      expect((await ask('GET', `/v1/snapshots/${taken.id}`)).status).toBe(200)
    })

    it('completes rows with a whole snapshot, and removes abandoned and lost ones', async () => {
      const of = { id: await sandbox(), workspace_id: tenant.workspaceId, template: 'base' }
      const finished = await insertRow('creating')
      addSnapshot(agent, of, finished, 'user')
      const mine = await insertRow('creating', control.control.lock.number)
      await insertRow('creating')
      await insertRow('ready')
      agent.cutStreams()
      await eventually(async () => (await rowsOf()).length === 2)
      expect((await rowsOf()).toSorted((a, b) => a.status.localeCompare(b.status))).toEqual([
        { id: mine, status: 'creating' },
        { id: finished, status: 'ready' },
      ])
      expect((await ask('GET', `/v1/snapshots/${finished}`)).body).toMatchObject({ size_bytes: 4096 })
      expect((await ask('GET', `/v1/snapshots/${mine}`)).status).toBe(404)
      await harness.pool.query('delete from snapshots where id = $1', [mine])
    })

    it('keeps the row of a snapshot whose record the agent cannot read', async () => {
      const [unreadable, lost] = [await insertRow('ready'), await insertRow('ready')]
      agent.state.unreadable.add(unreadable)
      agent.cutStreams()
      await eventually(async () => !(await rowsOf()).some(({ id }) => id === lost))
      expect(await rowsOf()).toContainEqual({ id: unreadable, status: 'ready' })
      agent.state.unreadable.clear()
      await harness.pool.query('delete from snapshots where id = $1', [unreadable])
    })

    it('deletes what came of a snapshot whose answer was lost', { tags: ['faults'] }, async () => {
      const lost = await FakeAgent.start()
      const { port, state } = lost
      const alone = await harness.control([lost])
      const options = { token: tenant.key }
      const created = await call(alone.url, 'POST', '/v1/sandboxes', { ...options, body: { template: 'base' } })
      lost.onAction = async (_action, _id, body) => {
        const of = { id: created.body.id, workspace_id: tenant.workspaceId, template: 'base' }
        addSnapshot(lost, of, (body as { id: string }).id, 'user')
        await lost.kill()
        return undefined
      }
      const answer = await call(alone.url, 'POST', `/v1/sandboxes/${created.body.id}/snapshots`, options)
      expect(answer).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
      expect(lost.state.snapshots.size).toBe(1)
      const back = await FakeAgent.start({ port, state })
      await eventually(() => state.snapshots.size === 0)
      await alone.stop()
      await back.kill()
    })
  })
})
