// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('POST /v1/sandboxes/{id}/promote', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0
  let parent: string
  let treeId: string
  let children: [string, string, string]

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })

  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    agent.onAction = async () => undefined
    agent.onDelete = async () => undefined
    parent = (await ask('POST', '/v1/sandboxes', { template: 'base' })).body.id
    const tree = (await ask('POST', `/v1/sandboxes/${parent}/fork-tree`, { count: 3 })).body
    treeId = tree.tree_id
    children = tree.children.map(({ id }: { id: string }) => id)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const get = (id: string) => ask('GET', `/v1/sandboxes/${id}`)
  const promote = (id: string, body?: unknown) => ask('POST', `/v1/sandboxes/${id}/promote`, body)
  const alive = async (): Promise<string[]> => {
    const { body } = await ask('GET', '/v1/sandboxes')
    return body.map(({ id }: { id: string }) => id).toSorted()
  }

  it.each([undefined, {}, { cleanup_siblings: true }, { tree_id: null, cleanup_siblings: null }])(
    '%j: the winner stays without a parent, its siblings are gone',
    async (body) => {
      const [first, winner, last] = children
      const answer = await promote(winner, body)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        winner,
        tree_id: treeId,
        deleted: expect.toSatisfy((ids: string[]) => ids.toSorted().join() === [first, last].toSorted().join()),
        failures: {},
      })
      expect(await alive()).toEqual([parent, winner].toSorted())
      expect([...agent.state.sandboxes.keys()]).not.toContain(first)
      expect((await get(winner)).body).toMatchObject({ status: 'running', parent_id: null, fork_tree_id: treeId })
      const told = agent.state.records.at(-1)
      expect(told?.event).toMatchObject({ type: 'fork_tree.promoted', sandbox_id: winner })
    },
  )

  it('promotes within the named tree, and keeps the siblings if asked to', async () => {
    const [first, winner] = children
    const answer = await promote(winner, { tree_id: treeId, cleanup_siblings: false })
    expect(answer.body).toEqual({ winner, tree_id: treeId, deleted: [], failures: {} })
    expect(await alive()).toEqual([parent, ...children].toSorted())
    // The second winner deletes the remaining sibling, but not the first winner.
    expect((await promote(first)).body.deleted).toEqual([children[2]])
    expect(await alive()).toEqual([parent, first, winner].toSorted())
  })

  it('done again is done already', async () => {
    const [winner] = children
    await promote(winner)
    const again = await promote(winner)
    expect(again).toMatchObject({ status: 200, body: { winner, tree_id: treeId, deleted: [], failures: {} } })
  })

  it('two at once never delete each other', async () => {
    const [a, b] = children
    const answers = await Promise.all([promote(a), promote(b)])
    const winners = answers.filter(({ status }) => status === 200).map(({ body }) => body.winner as string)
    expect(winners.length).toBeGreaterThan(0)
    await eventually(async () => (await alive()).length === 1 + winners.length)
    expect(await alive()).toEqual([parent, ...winners].toSorted())
  })

  it('names the siblings that are still there, which go later', async () => {
    const [stuck, winner, gone] = children
    let isStuck = true
    agent.onDelete = async (id) =>
      id === stuck && isStuck ? { status: 503, body: { error: 'shutting down' } } : undefined
    const { status, body } = await promote(winner)
    expect({ status, body }).toEqual({
      status: 200,
      body: { winner, tree_id: treeId, deleted: [gone], failures: { [stuck]: 'agent unreachable' } },
    })
    isStuck = false
    await harness.pool.query('update sandboxes set deletion_due_at = now() where id = $1', [stuck])
    await eventually(async () => (await get(stuck)).status === 404)
  })

  it('answers 409 to what is no child of the tree', async () => {
    const error = 'sandbox is not a child of a fork tree'
    expect(await promote(parent)).toMatchObject({ status: 409, body: { error } })
    for (const other of [randomUUID(), 'x']) {
      expect(await promote(children[0], { tree_id: other })).toMatchObject({ status: 409, body: { error } })
    }
    expect(await alive()).toHaveLength(4)
  })

  it.each([
    [{ tree_id: 7 }, 'tree_id must be a string'],
    [{ cleanup_siblings: 'no' }, 'cleanup_siblings must be a boolean'],
    ['[]', 'invalid json'],
  ])('refuses %j', async (body, error) => {
    expect(await promote(children[0], body)).toMatchObject({ status: 400, body: { error } })
    expect(await alive()).toHaveLength(4)
  })

  it('of a child that has failed, or is away with its agent, changes nothing', async () => {
    const [failed, winner] = children
    agent.log('vm.died', failed)
    await eventually(async () => (await get(failed)).body.status === 'failed')
    expect(await promote(failed)).toMatchObject({ status: 404 })
    const { port, state } = agent
    await agent.kill()
    expect(await promote(winner)).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    agent = await FakeAgent.start({ port, state })
    expect(await alive()).toHaveLength(4)
    expect((await get(winner)).body.parent_id).toBe(parent)
  })

  it('changes the rows when only the log reports it', async () => {
    const [winner] = children
    agent.log('fork_tree.promoted', winner)
    await eventually(async () => (await get(winner)).body.parent_id === null)
  })
})
