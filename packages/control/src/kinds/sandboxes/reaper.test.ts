// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const PAST = `now() - interval '1 second'`

describe('sandboxes whose time is up', () => {
  let harness: Harness
  let agent: FakeAgent
  let controls: RunningControl[]
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    harness = await Harness.start()
  })

  beforeEach(async () => {
    agent = await FakeAgent.start()
    controls = [await harness.control([agent]), await harness.control([agent])]
    tenants += 1
    tenant = await harness.tenant(one(), `tenant-${tenants}`)
    return async () => {
      await Promise.all(controls.map((control) => control.stop()))
      await agent.kill()
      await harness.pool.query('delete from sandboxes')
    }
  })

  afterAll(() => harness.stop())

  const one = (): RunningControl => {
    const [control] = controls
    if (control === undefined) throw new Error('none runs')
    return control
  }
  const create = async (body: object = {}): Promise<string> => {
    const options = { token: tenant.key, body: { template: 'base', ...body } }
    return (await call(one().url, 'POST', '/v1/sandboxes', options)).body.id
  }
  const set = (ids: readonly string[], assignment: string) =>
    harness.pool.query(`update sandboxes set ${assignment} where id = any($1)`, [ids])
  const left = async (): Promise<string[]> => {
    const { rows } = await harness.pool.query('select id from sandboxes order by created_at')
    return rows.map(({ id }) => id)
  }
  const gone = (ids: readonly string[]) =>
    eventually(async () => {
      const rows = await left()
      return ids.every((id) => !rows.includes(id) && !agent.state.sandboxes.has(id))
    })
  const removals = () => agent.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path)

  it('are deleted, each by one process, and not before', { tags: ['faults'] }, async () => {
    const ids = await Promise.all(Array.from({ length: 150 }, () => create()))
    const kept = await create({ ttl_seconds: 1000 })
    await set(ids, `expires_at = ${PAST}`)
    await gone(ids)
    expect(removals().toSorted()).toEqual(ids.map((id) => `/v1/sandboxes/${id}`).toSorted())
    expect(await left()).toEqual([kept])
  })

  it('end by the clock: after their time to live, not before', async () => {
    let deletedAtMs = 0
    agent.onDelete = async () => {
      deletedAtMs = Date.now()
      return undefined
    }
    const id = await create({ ttl_seconds: 1 })
    const { body } = await call(one().url, 'GET', `/v1/sandboxes/${id}`, { token: tenant.key })
    await gone([id])
    expect(deletedAtMs).toBeGreaterThanOrEqual(Date.parse(body.expires_at))
  })

  it('are none of the persistent ones, of those in the making, or of what a feature owns', async () => {
    const persistent = await create({ persistent: true })
    const making = await create()
    const managed = await create()
    const due = await create()
    await set([making], `expires_at = ${PAST}, status = 'creating'`)
    await set([managed], `expires_at = ${PAST}, managed_by = 'database'`)
    await set([due], `expires_at = ${PAST}`)
    await gone([due])
    expect((await left()).toSorted()).toEqual([persistent, making, managed].toSorted())
  })

  it('are also those that are paused, hibernated or failed', { tags: ['long'] }, async () => {
    const ids = await Promise.all(['paused', 'hibernated', 'failed'].map(() => create()))
    for (const [n, id] of ids.entries()) {
      const status = ['paused', 'hibernated', 'failed'][n]
      await set([id], `expires_at = ${PAST}, status = '${status}', last_event_seq = 1000000`)
    }
    await gone(ids)
    expect(await left()).toEqual([])
  })

  it('are deleted when their agent is back, and after a refusal', { tags: ['long'] }, async () => {
    const id = await create()
    let refusals = 0
    agent.onDelete = async () => {
      refusals += 1
      return refusals > 1 ? undefined : { status: 500, body: { error: 'internal error' } }
    }
    const { port, state } = agent
    await agent.kill()
    await eventually(() => controls.every(({ control }) => control.fleet.reachable.length === 0))
    await set([id], `expires_at = ${PAST}`)
    const { onDelete } = agent
    agent = await FakeAgent.start({ port, state })
    agent.onDelete = onDelete
    await eventually(() => refusals === 1)
    await gone([id])
    expect(refusals).toBe(2)
  })

  it('are deleted by another process when the one that had claimed them is gone', { tags: ['long'] }, async () => {
    const id = await create()
    await set([id], `expires_at = ${PAST}, deletion_due_at = now() + interval '1 second'`)
    await gone([id])
    expect(await left()).toEqual([])
  })

  it('are deleted after a restart of all that could', { tags: ['long'] }, async () => {
    const id = await create()
    await Promise.all(controls.map((control) => control.stop()))
    await set([id], `expires_at = ${PAST}`)
    controls = [await harness.control([agent])]
    await gone([id])
    expect(await left()).toEqual([])
  })

  it('of an agent that is retired go without it', { tags: ['long'] }, async () => {
    const id = await create()
    const { port } = agent
    await agent.kill()
    agent = await FakeAgent.start({ port })
    await eventually(() => controls.every(({ control }) => control.fleet.byId(agent.state.agentId)))
    await set([id], `expires_at = ${PAST}`)
    await gone([id])
    expect(removals()).toEqual([])
  })

  it('cannot be extended any more once their deletion has begun', async () => {
    const id = await create()
    const begun = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    agent.onDelete = async () => {
      begun.resolve()
      await held.promise
      return undefined
    }
    await set([id], `expires_at = ${PAST}`)
    await begun.promise
    const url = `/v1/sandboxes/${id}/lifecycle`
    for (const body of [{ ttl_seconds: 600 }, { on_timeout: 'pause' }]) {
      expect((await call(one().url, 'PATCH', url, { token: tenant.key, body })).status).toBe(404)
    }
    held.resolve()
    await gone([id])
  })

  it(
    'are hibernated instead if they ask for it, each by one process, also after a restart',
    { tags: ['long'] },
    async () => {
      const hibernated = (ids: readonly string[]) =>
        eventually(() => ids.every((id) => agent.state.sandboxes.get(id)?.status === 'hibernated'))
      const ids = await Promise.all(Array.from({ length: 20 }, () => create({ on_timeout: 'pause' })))
      const late = await create({ on_timeout: 'pause' })
      await set(ids, `expires_at = ${PAST}`)
      await hibernated(ids)
      const asked = agent.requests.filter(({ path }) => path.endsWith('/hibernate')).map(({ path }) => path)
      expect(asked.toSorted()).toEqual(ids.map((id) => `/v1/sandboxes/${id}/hibernate`).toSorted())
      await Promise.all(controls.map((control) => control.stop()))
      await set([late], `expires_at = ${PAST}`)
      controls = [await harness.control([agent])]
      await hibernated([late])
      expect(removals()).toEqual([])
    },
  )
})
