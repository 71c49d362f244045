// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const PAST = `now() - interval '1 second'`
const REFUSED = 'on_timeout must be "delete" or "pause"'

describe('sandboxes with on_timeout', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let other: Tenant

  beforeAll(async () => {
    harness = await Harness.start()
    agent = await FakeAgent.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'alice')
    other = await harness.tenant(control, 'bob')
  })

  beforeEach(() => {
    agent.onAction = async () => undefined
    agent.onCreate = async () => undefined
    return async () => {
      agent.onAction = async () => undefined
      for (const { id } of (await ask('GET', '/v1/sandboxes')).body) {
        await harness.pool.query('update sandboxes set managed_by = null where id = $1', [id])
        await ask('DELETE', `/v1/sandboxes/${id}`)
      }
    }
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })
  const create = async (body: object = {}): Promise<string> =>
    (await ask('POST', '/v1/sandboxes', { template: 'base', on_timeout: 'pause', ...body })).body.id
  const get = async (id: string) => (await ask('GET', `/v1/sandboxes/${id}`)).body
  const move = (id: string, transition: string) => ask('POST', `/v1/sandboxes/${id}/${transition}`)
  const patch = (id: string, body: unknown, token = tenant.key) =>
    ask('PATCH', `/v1/sandboxes/${id}/lifecycle`, body, token)
  const set = (id: string, assignment: string) =>
    harness.pool.query(`update sandboxes set ${assignment} where id = $1`, [id])
  const becomes = (id: string, status: string) => eventually(async () => (await get(id)).status === status)
  const movesOf = (id: string) =>
    agent.requests
      .filter(({ path }) => path.startsWith(`/v1/sandboxes/${id}/`))
      .map(({ path }) => path.split('/').at(-1))
  const failuresOf = async (id: string) =>
    (await ask('GET', `/v1/events?type=sandbox.timeout_failed&sandbox_id=${id}`)).body
  const secondsLeft = ({ expires_at }: { expires_at: string }) => (Date.parse(expires_at) - Date.now()) / 1000
  const hasJob = async (id: string, task: string) => {
    const { rows } = await harness.pool.query('select 1 from graphile_worker.jobs where key = $1', [`${task}:${id}`])
    return rows.length > 0
  }
  /** Holds every hibernation of the agent until it is released. */
  const holdHibernations = () => {
    const begun = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    agent.onAction = async (action) => {
      if (action !== 'hibernate') return undefined
      begun.resolve()
      await held.promise
      return undefined
    }
    return { begun: begun.promise, release: held.resolve }
  }

  it('are shown with it everywhere; the default is delete', async () => {
    const made = await ask('POST', '/v1/sandboxes', { template: 'base' })
    expect(made).toMatchObject({ status: 201, body: { on_timeout: 'delete' } })
    const id = await create()
    expect(await get(id)).toMatchObject({ on_timeout: 'pause', expires_at: expect.any(String) })
    expect((await ask('GET', '/v1/sandboxes')).body).toMatchObject([{ on_timeout: 'pause' }, { on_timeout: 'delete' }])
    expect((await ask('GET', `/v1/sandboxes/${id}/lifecycle`)).body).toMatchObject({ on_timeout: 'pause' })
    expect((await patch(id, { on_timeout: null })).body).toMatchObject({ on_timeout: 'pause' })
    expect((await patch(id, { on_timeout: 'delete' })).body).toMatchObject({ on_timeout: 'delete' })
  })

  it('are refused with another word or type, and for unknown sandboxes and another workspace’s', async () => {
    const id = await create()
    for (const wrong of ['stop', '', 'PAUSE', 1, true, ['pause'], {}]) {
      const refused = { status: 400, body: { error: REFUSED } }
      expect(await ask('POST', '/v1/sandboxes', { template: 'base', on_timeout: wrong })).toMatchObject(refused)
      expect(await patch(id, { on_timeout: wrong })).toMatchObject(refused)
    }
    expect((await patch(id, { on_timeout: 'delete' }, other.key)).status).toBe(404)
    expect((await patch(randomUUID(), { on_timeout: 'delete' })).status).toBe(404)
    expect(await get(id)).toMatchObject({ on_timeout: 'pause' })
  })

  it('hibernate at the deadline, have none while hibernated, and a new one after the wake', async () => {
    const id = await create({ ttl_seconds: 600 })
    await set(id, `expires_at = ${PAST}`)
    await becomes(id, 'hibernated')
    expect(await get(id)).toMatchObject({ id, expires_at: null, on_timeout: 'pause' })
    expect(await hasJob(id, 'remove-sandbox')).toBe(false)
    const { body } = await move(id, 'wake')
    expect(body).toMatchObject({ id, status: 'running' })
    expect(secondsLeft(body)).toBeGreaterThan(590)
    await set(id, `expires_at = ${PAST}`)
    await becomes(id, 'hibernated')
  })

  it('hibernate by the clock, not before', async () => {
    let atMs = 0
    agent.onAction = async (action) => {
      if (action === 'hibernate') atMs = Date.now()
      return undefined
    }
    const id = await create({ ttl_seconds: 1 })
    const { expires_at: expiresAt } = await get(id)
    await becomes(id, 'hibernated')
    expect(atMs).toBeGreaterThanOrEqual(Date.parse(expiresAt))
  })

  it('have a new deadline also after a wake that only the agent’s log tells', async () => {
    const id = await create({ ttl_seconds: 600 })
    await move(id, 'hibernate')
    expect((await get(id)).expires_at).toBeNull()
    agent.log('sandbox.woken', id)
    await becomes(id, 'running')
    expect(secondsLeft(await get(id))).toBeGreaterThan(590)
  })

  it('keep a changed time to live for the next wake', async () => {
    const id = await create({ ttl_seconds: 600 })
    await move(id, 'hibernate')
    expect((await patch(id, { ttl_seconds: 3000 })).body).toMatchObject({ ttl_seconds: 3000, expires_at: null })
    expect(secondsLeft((await move(id, 'wake')).body)).toBeGreaterThan(2990)
  })

  it('get and lose their deadline when the setting changes while they are hibernated', async () => {
    const id = await create({ on_timeout: 'delete', ttl_seconds: 600 })
    await move(id, 'hibernate')
    expect((await get(id)).expires_at).not.toBeNull()
    expect((await patch(id, { on_timeout: 'pause' })).body).toMatchObject({ expires_at: null })
    expect(secondsLeft((await patch(id, { on_timeout: 'delete' })).body)).toBeGreaterThan(590)
    await set(id, `expires_at = ${PAST}`)
    await eventually(async () => (await ask('GET', `/v1/sandboxes/${id}`)).status === 404)
  })

  it('are resumed first if they are paused', async () => {
    const id = await create()
    await move(id, 'pause')
    await set(id, `expires_at = ${PAST}`)
    await becomes(id, 'hibernated')
    expect(movesOf(id)).toEqual(['pause', 'resume', 'hibernate'])
  })

  it('are deleted at the deadline if they have failed', async () => {
    const id = await create()
    agent.log('vm.died', id)
    await becomes(id, 'failed')
    await set(id, `expires_at = ${PAST}`)
    await eventually(async () => (await ask('GET', `/v1/sandboxes/${id}`)).status === 404)
    expect(movesOf(id)).toEqual([])
  })

  it('hibernate after their create if the deadline passes during it', async () => {
    agent.onCreate = async (making) => {
      await set(making, `expires_at = ${PAST}`)
      expect(await hasJob(making, 'hibernate-sandbox')).toBe(false)
      return undefined
    }
    await becomes(await create(), 'hibernated')
  })

  it('neither hibernate nor are deleted if they are persistent, or belong to a database or an app', async () => {
    const persistent = await create({ persistent: true })
    const managed = await Promise.all(['database', 'app'].map(async (by) => ({ id: await create(), by })))
    for (const { id, by } of managed) await set(id, `expires_at = ${PAST}, managed_by = '${by}'`)
    const due = await create()
    await set(due, `expires_at = ${PAST}`)
    await becomes(due, 'hibernated')
    for (const id of [persistent, ...managed.map((each) => each.id)]) {
      expect(await get(id)).toMatchObject({ status: 'running' })
      expect(await hasJob(id, 'hibernate-sandbox')).toBe(false)
    }
  })

  it(
    'keep running after a refusal, are tried again, and one event for each deadline says so',
    { tags: ['long'] },
    async () => {
      const id = await create()
      let refusals = 0
      agent.onAction = async (action) => {
        if (action !== 'hibernate' || refusals === 2) return undefined
        refusals += 1
        return { status: 507, body: { error: 'insufficient host storage for sandbox' } }
      }
      await set(id, `expires_at = ${PAST}`)
      await eventually(async () => (await failuresOf(id)).length === 1)
      expect(await get(id)).toMatchObject({ status: 'running' })
      await becomes(id, 'hibernated')
      expect(refusals).toBe(2)
      expect(await failuresOf(id)).toMatchObject([
        { code: 'warn', sandbox_id: id, metadata: { error: 'insufficient host storage for sandbox' } },
      ])
      expect((await ask('GET', `/v1/events?sandbox_id=${id}`, undefined, other.key)).body).toEqual([])
    },
  )

  it('run on, and are not tried again, if the deadline is extended after a refusal', async () => {
    const id = await create()
    agent.onAction = async (action) => (action === 'hibernate' ? { status: 500, body: { error: 'no' } } : undefined)
    await set(id, `expires_at = ${PAST}`)
    await eventually(async () => (await failuresOf(id)).length === 1)
    expect(secondsLeft((await patch(id, { ttl_seconds: 600 })).body)).toBeGreaterThan(590)
    const { rows } = await harness.pool.query(
      `select run_at > now() + interval '500 s' as later from graphile_worker.jobs where key = $1`,
      [`hibernate-sandbox:${id}`],
    )
    expect(rows).toEqual([{ later: true }])
  })

  it('hibernate when their agent is back, and are never deleted', async () => {
    const id = await create()
    const { port, state } = agent
    await agent.kill()
    await eventually(() => control.control.fleet.reachable.length === 0)
    await set(id, `expires_at = ${PAST}`)
    await eventually(async () => !(await hasJob(id, 'hibernate-sandbox')))
    expect(await get(id)).toMatchObject({ status: 'running' })
    agent = await FakeAgent.start({ port, state })
    await becomes(id, 'hibernated')
    expect(agent.requests.filter(({ method }) => method === 'DELETE')).toEqual([])
  })

  it('are woken again if a request extends the deadline while they are being hibernated', async () => {
    const id = await create()
    const { begun, release } = holdHibernations()
    await set(id, `expires_at = ${PAST}`)
    await begun
    const { body } = await patch(id, { ttl_seconds: 600 })
    release()
    await eventually(() => movesOf(id).includes('wake'))
    await becomes(id, 'running')
    expect((await get(id)).expires_at).toBe(body.expires_at)
  })

  it('are woken again if a request makes them persistent while they are being hibernated', async () => {
    const id = await create()
    const { begun, release } = holdHibernations()
    await set(id, `expires_at = ${PAST}`)
    await begun
    await patch(id, { persistent: true })
    release()
    await eventually(() => movesOf(id).includes('wake'))
    await becomes(id, 'running')
  })

  it('stay hibernated if a request hibernates them after another one extended the deadline', async () => {
    const id = await create()
    const { begun, release } = holdHibernations()
    await set(id, `expires_at = ${PAST}`)
    await begun
    await patch(id, { ttl_seconds: 600 })
    const hibernating = move(id, 'hibernate')
    await eventually(() => movesOf(id).filter((action) => action === 'hibernate').length === 2)
    release()
    expect((await hibernating).status).toBe(200)
    await eventually(async () => !(await hasJob(id, 'hibernate-sandbox')))
    expect(await get(id)).toMatchObject({ status: 'hibernated', expires_at: null })
    expect(movesOf(id)).not.toContain('wake')
  })

  it('leave the setting and a deadline of their own to their forks', async () => {
    const id = await create({ ttl_seconds: 600 })
    await move(id, 'hibernate')
    const { body } = await move(id, 'fork')
    expect(body).toMatchObject({ on_timeout: 'pause', status: 'running' })
    expect(secondsLeft(body)).toBeGreaterThan(590)
  })
})
