// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import type { AgentFork, ForkOnAgentBody } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { addSnapshot } from '../../../test/fake-checkpoints.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/) as string

describe('forks', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0
  let parent: string

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })

  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    agent.onAction = async () => undefined
    parent = (await create({ metadata: { team: 'red' } })).id
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })
  const create = async (body: object = {}) =>
    (await ask('POST', '/v1/sandboxes', { template: 'base', ...body })).body as { id: string }
  const get = (id: string) => ask('GET', `/v1/sandboxes/${id}`)
  const fork = (body?: unknown, of = parent) => ask('POST', `/v1/sandboxes/${of}/fork`, body)
  const forkTree = (body?: unknown, of = parent) => ask('POST', `/v1/sandboxes/${of}/fork-tree`, body)
  const rowsLeft = async () => {
    const { rows } = await harness.pool.query(
      `select id::text from sandboxes where workspace_id = $1 union select id::text from snapshots where workspace_id = $1`,
      [tenant.workspaceId],
    )
    return rows.map(({ id }) => id as string)
  }
  /** The agent creates only the children with the given indexes; the others fail. */
  const onlyChildren = (indexes: readonly number[], status = 507) => {
    agent.onAction = async (action, id, body) => {
      if (action !== 'fork') return undefined
      const { snapshot_id: snapshotId, tree_id: treeId, children } = body as ForkOnAgentBody
      const of = { id, workspace_id: tenant.workspaceId, template: 'base' }
      const origin = {
        boot_mode: 'fork',
        from_snapshot: snapshotId,
        parent_id: id,
        fork_tree_id: treeId ?? null,
      } as const
      const made: AgentFork = {
        snapshot: addSnapshot(agent, of, snapshotId, 'fork'),
        children: children
          .filter(({ index }) => indexes.includes(index))
          .map((child) => agent.addSandbox(child.id, tenant.workspaceId, 'base', origin)),
        errors: children
          .filter(({ index }) => !indexes.includes(index))
          .map((child) => ({ ...child, error: `no room for ${child.index}`, status })),
      }
      return { status: 201, body: made }
    }
  }

  describe('POST fork', () => {
    it('answers 201 with the child, as GET shows it, and what it was made from', async () => {
      const { status, body } = await fork()
      expect(status).toBe(201)
      const child = (await get(body.id)).body
      expect(body).toEqual({ ...child, snapshot_id: UUID, children: [child], warnings: [] })
      expect(child).toMatchObject({
        template: 'base',
        status: 'running',
        boot_mode: 'fork',
        metadata: { team: 'red' },
        parent_id: parent,
        fork_tree_id: null,
        from_snapshot: body.snapshot_id,
        cpu: 1,
        memory_mb: 512,
      })
      expect((await get(parent)).body.status).toBe('running')
    })

    it('the child has its parent’s lifecycle, its time to live from now', async () => {
      const of = (await create({ ttl_seconds: 500, idle_timeout_seconds: 77 })).id
      await harness.pool.query(`update sandboxes set expires_at = now() + interval '3 s' where id = $1`, [of])
      const child = (await fork({}, of)).body
      expect((await ask('GET', `/v1/sandboxes/${child.id}/lifecycle`)).body).toMatchObject({
        ttl_seconds: 500,
        idle_timeout_seconds: 77,
        persistent: false,
      })
      expect(Date.parse(child.expires_at) - Date.now()).toBeGreaterThan(490_000)
      const persistent = (await create({ persistent: true })).id
      expect((await fork({}, persistent)).body).toMatchObject({ persistent: true, expires_at: null })
    })

    it('metadata replaces the parent’s', async () => {
      expect((await fork({ metadata: { a: 'b' } })).body.metadata).toEqual({ a: 'b' })
      expect((await fork({ metadata: {} })).body.metadata).toEqual({})
      expect((await fork({ metadata: null })).body.metadata).toEqual({ team: 'red' })
    })

    it('a child of a tree’s child is in no tree', async () => {
      const { children } = (await forkTree()).body
      const { body } = await fork({}, children[0].id)
      expect(body).toMatchObject({ parent_id: children[0].id, fork_tree_id: null, metadata: { team: 'red' } })
      expect(body.metadata).toEqual({ team: 'red' })
    })

    it('says which volumes the child has not', async () => {
      const volumes = [
        { name: 'data', read_only: false },
        { name: 'models', read_only: true },
      ]
      await harness.pool.query('update sandboxes set volumes = $2 where id = $1', [parent, JSON.stringify(volumes)])
      const { body } = await fork()
      expect(body.volumes).toEqual([{ name: 'models', read_only: true }])
      expect(body.warnings).toEqual(['volume data is writable and stays with the parent'])
    })
  })

  describe('POST fork-tree', () => {
    it.each([
      [undefined, 2],
      [{}, 2],
      [{ count: null }, 2],
      [{ count: 1 }, 1],
      [{ count: 16 }, 16],
    ])('%j makes %i and %i children, in order', async (body, count) => {
      const answer = await forkTree(body)
      expect(answer.status).toBe(201)
      expect(answer.body).toEqual({
        tree_id: UUID,
        parent_id: parent,
        snapshot_id: UUID,
        children: expect.any(Array),
        errors: [],
        warnings: [],
      })
      const { tree_id: treeId, children } = answer.body
      expect(children).toHaveLength(count)
      for (const [index, child] of children.entries()) {
        expect(child).toEqual((await get(child.id)).body)
        expect(child).toMatchObject({ parent_id: parent, fork_tree_id: treeId, status: 'running' })
        expect(child.metadata).toEqual({ team: 'red', fork_tree_id: treeId, fork_index: `${index}` })
      }
    })

    it('puts its tags beside the metadata it was given', async () => {
      const { tree_id: treeId, children } = (await forkTree({ count: 1, metadata: { a: 'b', fork_index: '9' } })).body
      expect(children[0].metadata).toEqual({ a: 'b', fork_tree_id: treeId, fork_index: '0' })
      const listed = await ask('GET', `/v1/sandboxes?metadata.fork_tree_id=${treeId}`)
      expect(listed.body).toEqual(children)
    })

    it('reports each child that failed, and keeps no row of it', async () => {
      onlyChildren([0, 2])
      const { status, body } = await forkTree({ count: 4 })
      expect(status).toBe(201)
      expect(body.children.map((child: { metadata: object }) => child.metadata)).toMatchObject([
        { fork_index: '0' },
        { fork_index: '2' },
      ])
      expect(body.errors).toEqual([
        { index: 1, error: 'no room for 1' },
        { index: 3, error: 'no room for 3' },
      ])
      const ids: string[] = body.children.map(({ id }: { id: string }) => id)
      expect((await rowsLeft()).toSorted()).toEqual([parent, body.snapshot_id as string, ...ids].toSorted())
    })

    it.each([
      [507, 507, 'no room for 0'],
      [500, 500, 'no room for 0'],
    ])('is refused when every child failed (%i), and all of it goes', async (status, answered, error) => {
      onlyChildren([], status)
      const answer = await forkTree({ count: 2 })
      expect(answer).toMatchObject({ status: answered, body: { error } })
      expect(answer.body.errors).toHaveLength(2)
      await eventually(async () => (await rowsLeft()).length === 1)
    })

    it('a child that was deleted before it ran is one of the errors', async () => {
      agent.onAction = async (action, _id, body) => {
        if (action !== 'fork') return undefined
        const [first] = (body as ForkOnAgentBody).children
        await harness.pool.query('delete from sandboxes where id = $1', [first?.id])
        return undefined
      }
      const { body } = await forkTree()
      expect(body.children).toHaveLength(1)
      expect(body.errors).toEqual([{ index: 0, error: 'the sandbox was deleted while it was being created' }])
      expect(
        [...agent.state.sandboxes.keys()].filter((id) =>
          body.children.some((child: { id: string }) => child.id === id),
        ),
      ).toHaveLength(1)
    })
  })

  it.each([
    ['fork-tree', { count: 0 }, 'count must be >= 1'],
    ['fork-tree', { count: 17 }, 'count must be <= 16'],
    ['fork-tree', { count: 1.5 }, 'count must be an integer'],
    ['fork-tree', { count: '2' }, 'count must be an integer'],
    ['fork-tree', { metadata: { a: 1 } }, 'metadata must be a string map'],
    ['fork', { metadata: [] }, 'metadata must be a string map'],
    ['fork', { metadata: { ['x'.repeat(257)]: '' } }, 'metadata keys must be at most 256 characters'],
    ['fork', '[]', 'invalid json'],
    ['fork', '{', 'invalid json'],
  ])('POST %s %j is refused, and makes nothing', async (action, body, error) => {
    expect(await ask('POST', `/v1/sandboxes/${parent}/${action}`, body)).toMatchObject({ status: 400, body: { error } })
    expect(await rowsLeft()).toEqual([parent])
  })

  it.each(['fork', 'fork-tree', 'promote'])(
    'POST %s answers 404 for what is no sandbox of the caller’s',
    async (action) => {
      const other = await harness.tenant(control, `other-${action}-${tenants}`)
      expect((await ask('POST', `/v1/sandboxes/${parent}/${action}`, {}, other.key)).status).toBe(404)
      for (const id of [randomUUID(), 'x']) {
        const answer = await ask('POST', `/v1/sandboxes/${id}/${action}`)
        expect(answer).toMatchObject({ status: 404, body: { error: 'not found' } })
      }
    },
  )

  it.each(['creating', 'failed'])('a parent that is %s answers 404', async (status) => {
    await harness.pool.query(`update sandboxes set status = $2, last_event_seq = 1000000 where id = $1`, [
      parent,
      status,
    ])
    for (const forked of [await fork(), await forkTree()]) {
      expect(forked).toMatchObject({ status: 404, body: { error: 'sandbox not found or not running' } })
    }
  })

  it.each([
    [404, 404],
    [409, 409],
    [507, 507],
    [500, 500],
    [503, 502],
  ])('nothing is left when the agent answers %i', async (status, answered) => {
    agent.onAction = async () => ({ status, body: { error: 'no' } })
    expect((await forkTree()).status).toBe(answered)
    expect(await rowsLeft()).toEqual([parent])
  })
})
