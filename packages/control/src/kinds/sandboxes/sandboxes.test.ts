// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

describe('/v1/sandboxes', () => {
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
    agent.onDelete = async () => undefined
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const create = (body: object = {}) =>
    call(control.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base', ...body } })
  const list = (query = '') => call(control.url, 'GET', `/v1/sandboxes${query}`, { token: tenant.key })
  const remove = (id: string) => call(control.url, 'DELETE', `/v1/sandboxes/${id}`, { token: tenant.key })
  const rowCount = async () => {
    const { rows } = await harness.pool.query('select count(*)::int as n from sandboxes where workspace_id = $1', [
      tenant.workspaceId,
    ])
    return rows[0].n as number
  }

  describe('POST', () => {
    it('answers 201 with every field', async () => {
      const { status, body } = await create({ metadata: { team: 'red' }, ttl_seconds: 60, cpu: 64, memory_mb: 1 })
      expect(status).toBe(201)
      expect(body).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        template: 'base',
        status: 'running',
        boot_ms: 80,
        boot_mode: 'snapshot',
        guest_ip: '10.0.2.15',
        metadata: { team: 'red' },
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        cpu: 1,
        memory_mb: 512,
        persistent: false,
        expires_at: expect.any(String),
        on_timeout: 'delete',
        from_snapshot: null,
        parent_id: null,
        fork_tree_id: null,
        volumes: [],
        managed_by: null,
        network: { egress: 'internet' },
        visibility: 'public',
      })
      expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(60_000)
      expect((await call(control.url, 'GET', `/v1/sandboxes/${body.id}`, { token: tenant.key })).body).toEqual(body)
    })

    it('lives for an hour by default, and a persistent one for ever', async () => {
      const { body } = await create()
      expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(3_600_000)
      expect((await create({ persistent: true, ttl_seconds: 5 })).body).toMatchObject({
        persistent: true,
        expires_at: null,
      })
    })

    it('sends env to the agent and never returns it', async () => {
      const { body } = await create({ env: { TOKEN: 'hush-hush' } })
      const { rows } = await harness.pool.query('select to_jsonb(s) as row from sandboxes s where id = $1', [body.id])
      expect(JSON.stringify([body, rows, (await list()).body])).not.toContain('hush-hush')
    })

    it.each([
      { wrong: { template: undefined }, error: 'template required' },
      { wrong: { template: '' }, error: 'template required' },
      { wrong: { template: 7 }, error: 'template must be a string' },
      { wrong: { template: 'x'.repeat(65) }, error: 'template must be at most 64 characters' },
      { wrong: { ttl_seconds: 0 }, error: 'ttl_seconds must be >= 1' },
      { wrong: { ttl_seconds: 1.5 }, error: 'ttl_seconds must be an integer' },
      { wrong: { ttl_seconds: '60' }, error: 'ttl_seconds must be an integer' },
      { wrong: { idle_timeout_seconds: 59 }, error: 'idle_timeout_seconds must be >= 60' },
      { wrong: { persistent: 'yes' }, error: 'persistent must be a boolean' },
      { wrong: { metadata: [] }, error: 'metadata must be a string map' },
      { wrong: { metadata: { a: 1 } }, error: 'metadata must be a string map' },
      { wrong: { metadata: { ['k'.repeat(257)]: '' } }, error: 'metadata keys must be at most 256 characters' },
      { wrong: { metadata: { k: 'v'.repeat(4097) } }, error: 'metadata values must be at most 4096 characters' },
      { wrong: { metadata: { k: '\0' } }, error: 'metadata must not contain NUL or half a surrogate pair' },
      { wrong: { metadata: { '\ud800': '' } }, error: 'metadata must not contain NUL or half a surrogate pair' },
      { wrong: { env: { A: 1 } }, error: 'env must be a string map' },
      { wrong: { env: 'A=1' }, error: 'env must be a string map' },
      { wrong: { cpu: 'two' }, error: 'cpu must be an integer' },
      { wrong: { memory_mb: 0.5 }, error: 'memory_mb must be an integer' },
      { wrong: { volumes: {} }, error: 'volumes must be an array of objects' },
      { wrong: { volumes: [{}] }, error: 'volumes.name required' },
      { wrong: { network: 'none' }, error: 'network must be an object' },
      { wrong: { network: { egress: 'some' } }, error: 'network.egress must be "internet" or "none"' },
      { wrong: { network: { egress: 1 } }, error: 'network.egress must be "internet" or "none"' },
      { wrong: { from_snapshot: 7 }, error: 'from_snapshot must be a string' },
    ])('refuses a body: $error', async ({ wrong, error }) => {
      const { status, body } = await create(wrong)
      expect({ status, body }).toEqual({ status: 400, body: { error } })
      expect(await rowCount()).toBe(0)
    })

    it('takes 64 tags of the greatest length and ignores fields it does not know', async () => {
      const metadata = Object.fromEntries(
        Array.from({ length: 64 }, (_, n) => [`${n}`.padStart(256, 'k'), 'v'.repeat(4096)]),
      )
      expect(await create({ metadata, unknown: { a: 1 } })).toMatchObject({ status: 201, body: { metadata } })
      const { body } = await create({ metadata: { ...metadata, one: 'more' } })
      expect(body).toEqual({ error: 'metadata must have at most 64 entries' })
    })

    it.each([
      [{ template: 'nowhere' }, 'unknown template: nowhere'],
      [{ template: '../base' }, 'unknown template: ../base'],
      [{ from_snapshot: 'abc' }, 'unknown snapshot: abc'],
      [{ volumes: [{ name: 'data' }] }, 'unknown volume: data'],
    ])('answers 404 to %j', async (wrong, detail) => {
      const { status, body } = await create(wrong)
      expect({ status, body }).toEqual({ status: 404, body: { error: 'not found', detail } })
      expect(await rowCount()).toBe(0)
    })

    it('leaves no row when the agent has no memory', async () => {
      agent.onCreate = async () => ({ status: 507, body: { error: 'insufficient host memory for sandbox' } })
      const { status, body } = await create()
      expect({ status, body }).toEqual({ status: 507, body: { error: 'insufficient host memory for sandbox' } })
      expect(await rowCount()).toBe(0)
    })

    it('leaves no row when the VM does not start', async () => {
      agent.onCreate = async () => ({ status: 500, body: { error: 'QEMU: cannot open the secret path' } })
      const { status, body } = await create()
      expect({ status, body }).toEqual({ status: 500, body: { error: 'sandbox could not be started' } })
      expect(await rowCount()).toBe(0)
    })

    it('finishes though the caller hangs up', async () => {
      const release = Promise.withResolvers<undefined>()
      const begun = Promise.withResolvers<void>()
      agent.onCreate = () => {
        begun.resolve()
        return release.promise
      }
      const hangUp = new AbortController()
      const body = { template: 'base' }
      const lost = call(control.url, 'POST', '/v1/sandboxes', { token: tenant.key, body, signal: hangUp.signal })
      await begun.promise
      hangUp.abort()
      await expect(lost).rejects.toThrow('aborted')
      release.resolve(undefined)
      expect(await eventually(async () => (await list('?status=running')).body.length === 1)).toBe(true)
    })

    it('deletes the VM of a sandbox that was deleted while it was being created', async () => {
      const release = Promise.withResolvers<undefined>()
      const begun = Promise.withResolvers<string>()
      agent.onCreate = (id) => {
        begun.resolve(id)
        return release.promise
      }
      const creating = create()
      const id = await begun.promise
      expect((await list()).body).toMatchObject([{ id, status: 'creating', boot_ms: null, guest_ip: null }])
      expect((await remove(id)).status).toBe(204)
      release.resolve(undefined)
      expect((await creating).status).toBe(409)
      expect(agent.state.sandboxes.has(id)).toBe(false)
      expect(await rowCount()).toBe(0)
    })

    it('makes as many as are asked for at once', { tags: ['faults'] }, async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => create()))
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 201))
      expect((await list('?status=running')).body).toHaveLength(50)
    })
  })

  describe('DELETE', () => {
    it('removes VM and row, and answers 404 afterwards', async () => {
      const { id } = (await create()).body
      const first = await remove(id)
      expect(first).toMatchObject({ status: 204, body: '' })
      expect(agent.state.sandboxes.has(id)).toBe(false)
      expect((await remove(id)).status).toBe(404)
    })

    it('ends well for all who ask at once', async () => {
      const { id } = (await create()).body
      const statuses = (await Promise.all(Array.from({ length: 5 }, () => remove(id)))).map(({ status }) => status)
      expect(statuses).toContain(204)
      for (const status of statuses) expect([204, 404]).toContain(status)
    })

    it.each(['app', 'database'])('refuses one that belongs to an %s', async (owner) => {
      const { id } = (await create()).body
      await harness.pool.query('update sandboxes set managed_by = $2 where id = $1', [id, owner])
      const { status, body } = await remove(id)
      expect({ status, body }).toEqual({
        status: 409,
        body: { error: 'managed sandbox: delete it from the feature that owns it (Databases or Apps)' },
      })
      expect(agent.state.sandboxes.has(id)).toBe(true)
    })
  })

  it('answers 502 while the agent is gone, keeps the rows, and goes on when it is back', async () => {
    const { id } = (await create()).body
    const { port, state } = agent
    await agent.kill()
    expect(await remove(id)).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    expect(await create()).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    expect((await list()).body).toMatchObject([{ id, status: 'running' }])
    agent = await FakeAgent.start({ port, state })
    expect(await eventually(async () => (await remove(id)).status === 204)).toBe(true)
    expect((await create()).status).toBe(201)
  })
})
