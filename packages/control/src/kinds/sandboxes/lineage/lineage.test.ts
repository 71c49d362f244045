// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import type { Lineage } from '@offshoot/contract/lineage'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { removeOldLineage } from './lineage-statements.ts'

describe('GET /v1/sandboxes/{id}/lineage', () => {
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
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    agent.onCreate = async () => undefined
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })
  const lineageOf = async (id: string): Promise<Lineage> => (await ask('GET', `/v1/sandboxes/${id}/lineage`)).body
  const create = async (body: object = {}): Promise<string> =>
    (await ask('POST', '/v1/sandboxes', { template: 'base', ...body })).body.id
  const fork = async (of: string): Promise<string> => (await ask('POST', `/v1/sandboxes/${of}/fork`)).body.id
  const forkTree = async (of: string, count: number): Promise<string[]> =>
    (await ask('POST', `/v1/sandboxes/${of}/fork-tree`, { count })).body.children.map(({ id }: { id: string }) => id)
  const snapshot = async (of: string, body: object = {}): Promise<string> =>
    (await ask('POST', `/v1/sandboxes/${of}/snapshots`, body)).body.id
  const remove = async (path: string) => expect((await ask('DELETE', path)).status).toBe(204)
  const removeSandbox = (id: string) => remove(`/v1/sandboxes/${id}`)
  const linksOf = ({ nodes }: Lineage) =>
    new Map(nodes.map(({ id, link, parent_id: parent, status }) => [id, { link, parent, status }]))

  it('tells every field of a sandbox without relatives', async () => {
    const id = await create({ metadata: { name: 'alone' } })
    const { status, body } = await ask('GET', `/v1/sandboxes/${id}/lineage`)
    const node = {
      id,
      kind: 'sandbox',
      link: 'template',
      parent_id: null,
      name: 'alone',
      template: 'base',
      status: 'running',
      cpu: 1,
      memory_mb: 512,
      size_bytes: null,
      fork_tree_id: null,
      promoted: false,
      created_at: (await ask('GET', `/v1/sandboxes/${id}`)).body.created_at,
      deleted_at: null,
    }
    expect({ status, body }).toEqual({ status: 200, body: { root_id: id, nodes: [node], truncated: false } })
  })

  it('is the same tree from each sandbox of it, also if its ancestors are deleted', async () => {
    const root = await create({ metadata: { name: 'root' } })
    const child = await fork(root)
    const kept = await snapshot(child, { name: 'kept' })
    const restored = await create({ from_snapshot: kept })
    const sibling = await fork(root)
    await create()
    await removeSandbox(root)
    await removeSandbox(child)
    await remove(`/v1/snapshots/${kept}`)
    for (const id of [root, child, restored, sibling]) {
      const lineage = await lineageOf(id)
      expect(lineage.root_id).toBe(root)
      expect(Object.fromEntries(linksOf(lineage))).toEqual({
        [root]: { link: 'template', parent: null, status: 'deleted' },
        [child]: { link: 'fork', parent: root, status: 'deleted' },
        [kept]: { link: 'snapshot_of', parent: child, status: 'deleted' },
        [restored]: { link: 'from_snapshot', parent: kept, status: 'running' },
        [sibling]: { link: 'fork', parent: root, status: 'running' },
      })
    }
    const { nodes } = await lineageOf(restored)
    expect(nodes.map(({ id }) => id)).toEqual([restored, kept, child, root, sibling])
    expect(nodes.map(({ name }) => name)).toEqual([null, 'kept', 'root', 'root', 'root'])
    expect(nodes[1]).toMatchObject({ kind: 'snapshot', size_bytes: 4096 })
    for (const { created_at: created, deleted_at: deleted } of nodes.slice(1, 4)) {
      expect(Date.parse(deleted ?? '')).toBeGreaterThanOrEqual(Date.parse(created))
    }
  })

  it('keeps a promoted child below the sandbox that it came of', async () => {
    const root = await create()
    const [winner = '', loser = ''] = await forkTree(root, 2)
    expect((await ask('POST', `/v1/sandboxes/${winner}/promote`)).status).toBe(200)
    const tree = await lineageOf(winner)
    expect(tree.nodes.find(({ id }) => id === winner)).toMatchObject({ link: 'fork', parent_id: root, promoted: true })
    expect(tree.nodes.find(({ id }) => id === loser)).toMatchObject({ status: 'deleted', promoted: false })
    await removeSandbox(winner)
    expect((await lineageOf(root)).nodes.find(({ id }) => id === winner)).toMatchObject({ promoted: true })
  })

  it('shows a sandbox from the snapshot of a fork below the forked one', async () => {
    const root = await create()
    const { body } = await ask('POST', `/v1/sandboxes/${root}/fork`)
    const other = await create({ from_snapshot: body.snapshot_id })
    expect(linksOf(await lineageOf(root)).get(other)).toEqual({
      link: 'from_snapshot',
      parent: root,
      status: 'running',
    })
  })

  it('does not tell of sandboxes that were never made, nor of hidden ones', async () => {
    const root = await create()
    agent.onCreate = async () => ({ status: 507, body: { error: 'insufficient memory' } })
    expect((await ask('POST', '/v1/sandboxes', { template: 'base' })).status).toBe(507)
    const { rows } = await harness.pool.query('select id from lineage where workspace_id = $1', [tenant.workspaceId])
    expect(rows).toEqual([{ id: root }])
  })

  it('goes on with a row that was deleted and comes back', async () => {
    const id = await create()
    const copy = `create table kept_row as select * from sandboxes where id = '${id}'`
    await harness.pool.query(copy)
    await harness.pool.query('delete from sandboxes where id = $1', [id])
    expect((await lineageOf(id)).nodes.map(({ status }) => status)).toEqual(['deleted'])
    await harness.pool.query('insert into sandboxes select * from kept_row')
    expect((await lineageOf(id)).nodes).toMatchObject([{ id, status: 'running', deleted_at: null }])
    await removeSandbox(id)
  })

  it('answers 404 for an unknown id, a malformed one, a snapshot, and a sandbox of another workspace', async () => {
    const own = await create()
    const taken = await snapshot(own)
    const other = await harness.tenant(control, `other-${tenants}`)
    const path = `/v1/sandboxes/${own}/lineage`
    const missing = { status: 404, body: { error: 'not found' } }
    for (const id of [randomUUID(), 'x', taken]) {
      expect(await ask('GET', `/v1/sandboxes/${id}/lineage`)).toMatchObject(missing)
    }
    expect(await ask('GET', path, undefined, other.key)).toMatchObject(missing)
    await removeSandbox(own)
    expect(await ask('GET', path, undefined, other.key)).toMatchObject(missing)
    expect((await ask('GET', path, undefined, '')).status).toBe(401)
  })

  it('says if the tree is cut, and never cuts the ancestors', async () => {
    const root = await create()
    const child = await fork(root)
    const grandchild = await fork(child)
    await removeSandbox(root)
    await harness.pool.query(
      `insert into lineage (id, workspace_id, kind, link, parent_id, root_id, template, cpu, memory_mb, created_at, deleted_at)
       select gen_random_uuid(), $2, 'sandbox', 'fork', $1, $1, 'base', 1, 512, now() - interval '1 day', now()
       from generate_series(1, 2100)`,
      [root, tenant.workspaceId],
    )
    const { nodes, truncated } = await lineageOf(grandchild)
    expect(truncated).toBe(true)
    expect(nodes).toHaveLength(2000)
    expect(nodes.slice(0, 3).map(({ id }) => id)).toEqual([grandchild, child, root])
  })

  it('forgets what was deleted longer ago than events are kept, and still knows who belongs together', async () => {
    const root = await create()
    const one = await fork(root)
    const two = await fork(root)
    await removeSandbox(root)
    await removeOldLineage(harness.pool)
    expect((await lineageOf(one)).nodes).toHaveLength(3)
    await harness.pool.query(`update lineage set deleted_at = now() - interval '91 days' where id = $1`, [root])
    await removeOldLineage(harness.pool)
    const { root_id: oldest, nodes } = await lineageOf(one)
    expect(oldest).toBe(root)
    expect(nodes.map(({ id, parent_id: parent }) => [id, parent])).toEqual([
      [one, root],
      [two, root],
    ])
    expect((await ask('GET', `/v1/sandboxes/${root}/lineage`)).status).toBe(404)
  })
})
