// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { createHash, randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerAdmission } from '../admission.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const BOOTSTRAP = `ofs_operator_${'x'.repeat(43)}`
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex')
const UNAUTHORIZED = { status: 401, body: { error: 'unauthorized', detail: 'invalid api token' } }
const FORBIDDEN = { status: 403, body: { error: 'forbidden' } }
const UNKNOWN = { status: 404, body: { error: 'not found' } }
const NO_OWNER = { status: 409, body: { error: 'conflict', detail: 'no owner with a valid key would be left' } }
const PATH = '/v1/admin/operators'

interface Made {
  readonly id: string
  readonly key: string
  readonly prefix: string
}

describe('named operators', () => {
  let harness: Harness
  let control: RunningControl
  let alice: Tenant
  let viewer: Made
  let operator: Made
  let owner: Made
  let operations: { method: string; path: string; role: string | undefined }[]

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([], { operator_key_sha256: hashOf(BOOTSTRAP) })
    alice = await harness.tenant(control, 'alice')
    viewer = await make('viewer')
    operator = await make('operator')
    owner = await make('owner')
    const { body } = await call(control.url, 'GET', '/openapi.json')
    operations = Object.entries(body.paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security, 'x-operator-role': role }]) =>
        security.some((scheme) => 'operator' in scheme) ? [{ method: method.toUpperCase(), path, role }] : [],
      ),
    )
  })

  interface Described {
    readonly security: readonly object[]
    readonly 'x-operator-role'?: string
  }

  afterAll(async () => harness.stop())

  const ask = (method: string, path = '', body?: unknown, token = BOOTSTRAP, url = control.url) =>
    call(url, method, `${PATH}${path}`, { token, ...(body !== undefined && { body }) })
  const isIn = async (key: string, url = control.url) => (await ask('GET', '', undefined, key, url)).status === 200

  async function make(role: string, name: string = role): Promise<Made> {
    const { body: made } = await ask('POST', '', { name, role })
    const { body } = await ask('POST', `/${made.id}/keys`, { name: 'laptop' })
    return { id: made.id, key: body.key, prefix: body.prefix }
  }

  async function bootstrapId(): Promise<string> {
    const { rows } = await harness.pool.query('select id from operators where is_bootstrap')
    return rows[0].id
  }

  it('have a declared role on every route for operators, where a GET only reads', () => {
    const paths = operations.filter(({ path }) => path.startsWith('/v1/admin/'))
    expect(paths.length).toBeGreaterThan(15)
    for (const { method, path, role } of operations) {
      const changes = path.startsWith(PATH) ? 'owner' : 'operator'
      expect([method, path, role]).toEqual([method, path, method === 'GET' ? 'viewer' : changes])
    }
  })

  it('cannot have a route without a declared role', () => {
    const app = Fastify() as unknown as FastifyInstance
    registerAdmission(app, control.control)
    const add = () => app.get('/x', { config: { credential: 'operator' }, handler: async () => null })
    expect(add).toThrow('GET /x has no operatorRole')
  })

  it('may do what their role allows, on every route', async () => {
    for (const { method, path, role } of operations) {
      const target = path.replaceAll(/\{\w+\}/g, randomUUID())
      const refused = [...(role === 'viewer' ? [] : [viewer]), ...(role === 'owner' ? [operator] : [])]
      for (const { key } of refused) {
        const answer = await call(control.url, method, target, { token: key })
        expect([method, path, answer]).toMatchObject([method, path, FORBIDDEN])
        expect(answer.body.detail).toBe(role === 'owner' ? 'takes the role owner' : 'takes the role operator or owner')
      }
      const admitted = [...(role === 'viewer' ? [viewer] : []), ...(role === 'owner' ? [] : [operator]), owner]
      // An empty body and an unknown id change nothing.
      for (const { key } of path.endsWith('/rotate') ? [] : admitted) {
        const { status } = await call(control.url, method, target, { token: key, headers: { 'x-request-id': 'x' } })
        expect([method, path, status === 401 || status === 403]).toEqual([method, path, false])
      }
    }
  })

  it('are made, read, renamed and removed by owners', async () => {
    const made = await ask('POST', '', { name: 'Eve', role: 'viewer' })
    expect(made).toMatchObject({ status: 201, body: { id: expect.any(String), name: 'Eve', role: 'viewer' } })
    const { id } = made.body
    expect(await ask('GET', `/${id}`)).toMatchObject({ status: 200, body: made.body })
    const changed = await ask('PATCH', `/${id}`, { role: 'operator' }, owner.key)
    expect(changed).toMatchObject({ status: 200, body: { ...made.body, role: 'operator' } })
    expect((await ask('PATCH', `/${id}`, { name: 'Eva' })).body).toEqual({ ...changed.body, name: 'Eva' })
    expect((await ask('PATCH', `/${id}`, {})).body).toEqual({ ...changed.body, name: 'Eva' })
    const { body: key } = await ask('POST', `/${id}/keys`, { name: 'k' })
    expect(await isIn(key.key)).toBe(true)
    expect((await ask('DELETE', `/${id}`)).status).toBe(204)
    expect(await ask('GET', '', undefined, key.key)).toMatchObject(UNAUTHORIZED)
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['GET', '/keys'],
      ['POST', '/keys'],
      ['DELETE', `/keys/${key.prefix}`],
    ] as const) {
      for (const unknown of [id, randomUUID(), 'nonsense', '%00', alice.userId]) {
        const body = method === 'POST' || method === 'PATCH' ? { name: 'x' } : undefined
        expect([method, path, await ask(method, `/${unknown}${path}`, body)]).toMatchObject([method, path, UNKNOWN])
      }
    }
    expect((await ask('GET', '?name=Eva')).body).toEqual([])
  })

  it.each([
    ['', { role: 'viewer' }, 'name required'],
    ['', { name: '', role: 'viewer' }, 'name required'],
    ['', { name: '  ', role: 'viewer' }, 'name required'],
    ['', { name: 7, role: 'viewer' }, 'name must be a string'],
    ['', { name: 'x'.repeat(101), role: 'viewer' }, 'name must be at most 100 characters'],
    ['', { name: '\0', role: 'viewer' }, 'name must not contain NUL or half a surrogate pair'],
    ['', { name: 'x' }, 'role must be one of viewer, operator, owner'],
    ['', { name: 'x', role: 'root' }, 'role must be one of viewer, operator, owner'],
    ['', { name: 'x', role: ['owner'] }, 'role must be one of viewer, operator, owner'],
    ['/keys', {}, 'name required'],
    ['/keys', { name: 'x'.repeat(101) }, 'name must be at most 100 characters'],
    ['/keys', { name: 'k', expires_in_days: 0 }, 'expires_in_days must be >= 1'],
    ['/keys', { name: 'k', expires_in_days: 3651 }, 'expires_in_days must be <= 3650'],
    ['/keys', { name: 'k', expires_in_days: '1' }, 'expires_in_days must be an integer'],
    ['', '[', 'invalid json'],
  ])('are refused at %s with %j', async (path, body, error) => {
    const method = 'POST'
    const answer = await ask(method, path === '' ? '' : `/${viewer.id}${path}`, body)
    expect(answer).toMatchObject({ status: 400, body: { error } })
    if (path === '' && typeof body === 'object' && 'role' in body && !error.endsWith('required')) {
      expect(await ask('PATCH', `/${viewer.id}`, body)).toMatchObject({ status: 400, body: { error } })
    }
  })

  it('have keys that are hashed, shown once, and revoked at once in every process', async () => {
    const other = await harness.control([], { operator_key_sha256: hashOf(BOOTSTRAP) })
    const { id } = await make('viewer', 'of keys')
    const made = await ask('POST', `/${id}/keys`, { name: 'phone', expires_in_days: 30 })
    expect(made.headers.get('cache-control')).toBe('no-store')
    const { key, ...shown } = made.body
    expect(key).toMatch(/^ofs_op_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/)
    expect(Date.parse(shown.expires_at) - Date.parse(shown.created_at)).toBeGreaterThan(29 * 86_400_000)
    expect((await ask('GET', `/${id}/keys?name=phone`)).body).toEqual([{ ...shown, last_used_at: null }])
    const { rows } = await harness.pool.query(
      `select row_to_json(k)::text as text from operator_keys k union all select details::text from audit_log`,
    )
    expect(JSON.stringify(rows)).not.toContain(key.slice(-32))
    expect(await isIn(key, other.url)).toBe(true)
    expect((await ask('GET', `/${id}/keys?name=phone`)).body[0].last_used_at).toMatch(/Z$/)
    for (const wrong of [
      key.slice(0, -1),
      `${key}x`,
      `${key.slice(0, -1)}!`,
      key.replace('ofs_op', 'ofs'),
      shown.prefix,
    ]) {
      expect(await ask('GET', '', undefined, wrong)).toMatchObject(UNAUTHORIZED)
    }
    expect(await call(control.url, 'GET', '/v1/sandboxes', { token: key })).toMatchObject(UNAUTHORIZED)
    expect(await ask('DELETE', `/${viewer.id}/keys/${shown.prefix}`)).toMatchObject(UNKNOWN)
    expect((await ask('DELETE', `/${id}/keys/${shown.prefix}`)).status).toBe(204)
    expect(await ask('DELETE', `/${id}/keys/${shown.prefix}`)).toMatchObject(UNKNOWN)
    expect(await ask('DELETE', `/${id}/keys/%00`)).toMatchObject(UNKNOWN)
    for (const { url } of [control, other]) expect(await isIn(key, url)).toBe(false)
    expect((await ask('GET', `/${id}/keys?name=phone`)).body).toEqual([])
  })

  it('have keys that expire', async () => {
    const { id, key, prefix } = await make('viewer', 'expiring')
    expect(await isIn(key)).toBe(true)
    await harness.pool.query('update operator_keys set expires_at = now() where prefix = $1', [prefix])
    expect(await ask('GET', '', undefined, key)).toMatchObject(UNAUTHORIZED)
    expect((await ask('GET', `/${id}/keys?expired=true`)).body).toMatchObject([{ prefix }])
  })

  it('are in the audit log by id, for other operators also by name', async () => {
    await ask('PATCH', `/${viewer.id}`, { name: 'Vera' }, owner.key)
    await call(control.url, 'POST', `/v1/admin/orgs/${alice.workspaceId}/plan`, {
      token: operator.key,
      body: { plan: 'pro' },
    })
    const audit = (query: string) => call(control.url, 'GET', `/v1/admin/audit?${query}`, { token: viewer.key })
    expect((await audit(`actor=${owner.id}&action=operator.updated&target=${viewer.id}`)).body).toMatchObject([
      {
        actor: { type: 'operator', id: owner.id, name: 'owner' },
        target_kind: 'operator',
        details: { from: { name: 'viewer', role: 'viewer' }, to: { name: 'Vera', role: 'viewer' } },
        workspace_id: null,
      },
    ])
    const [ofAlice] = (await call(control.url, 'GET', '/v1/audit', { token: alice.jwt })).body
    expect(ofAlice).toMatchObject({ action: 'org.plan_set', actor: { type: 'operator', id: operator.id } })
    expect(Object.keys(ofAlice.actor)).toEqual(['type', 'id'])
    const before = (await audit(`target=${viewer.id}`)).body.length
    await ask('PATCH', `/${viewer.id}`, { name: '' })
    expect((await audit(`target=${viewer.id}`)).body).toHaveLength(before)
  })

  describe('who are owners', () => {
    const owners = async () => (await ask('GET', '?role=owner')).body.map(({ id }: { id: string }) => id)

    beforeAll(async () => {
      const bootstrap = await bootstrapId()
      for (const id of await owners()) if (id !== bootstrap) await ask('DELETE', `/${id}`)
      expect(await owners()).toEqual([bootstrap])
    })

    it('are never none: the last one keeps role and key', async () => {
      const id = await bootstrapId()
      expect(await ask('DELETE', `/${id}`)).toMatchObject(NO_OWNER)
      expect(await ask('PATCH', `/${id}`, { role: 'operator' })).toMatchObject(NO_OWNER)
      expect(await ask('DELETE', `/${id}/keys/bootstrap`)).toMatchObject(NO_OWNER)
      // An owner without a valid key does not count.
      const { body: keyless } = await ask('POST', '', { name: 'keyless', role: 'owner' })
      expect(await ask('DELETE', `/${id}`)).toMatchObject(NO_OWNER)
      expect((await ask('DELETE', `/${keyless.id}`)).status).toBe(204)
      expect((await ask('PATCH', `/${id}`, { name: 'root' })).body).toMatchObject({ name: 'root', role: 'owner' })
    })

    it('are one when all remove each other at once', async () => {
      const id = await bootstrapId()
      const all = [{ id, key: BOOTSTRAP }, ...(await Promise.all([1, 2, 3].map((n) => make('owner', `owner ${n}`))))]
      const client = await harness.pool.connect()
      await client.query(`begin; select from operators where role = 'owner' for update`)
      const removals = all.map(({ key }, index) => ask('DELETE', `/${all.at(index - 1)?.id}`, undefined, key))
      // All removals have been admitted and wait for a row.
      await eventually(async () => {
        const { rows } = await harness.pool.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)
        return rows.length === all.length
      })
      await client.query('commit')
      client.release()
      const statuses = (await Promise.all(removals)).map(({ status }) => status)
      expect(statuses.toSorted((a, b) => a - b)).toEqual([204, 204, 204, 409])
      const { rows } = await harness.pool.query(`select from operators where role = 'owner' and removed_at is null`)
      expect(rows).toHaveLength(1)
    })

    it('come back with a new key in the configuration, not with the revoked one', { tags: ['faults'] }, async () => {
      const [id, newer] = [await bootstrapId(), `ofs_operator_${'y'.repeat(43)}`]
      await harness.pool.query('update operators set removed_at = now() where is_bootstrap')
      await harness.pool.query(`update operator_keys set revoked_at = now() where prefix = 'bootstrap'`)
      const same = await harness.control([], { operator_key_sha256: hashOf(BOOTSTRAP) })
      expect(await isIn(BOOTSTRAP, same.url)).toBe(false)
      const renewed = await Promise.all([1, 2].map(() => harness.control([], { operator_key_sha256: hashOf(newer) })))
      for (const { url } of renewed) {
        expect(await isIn(newer, url)).toBe(true)
        expect(await isIn(BOOTSTRAP, url)).toBe(false)
      }
      expect((await ask('GET', `/${id}`, undefined, newer)).body).toMatchObject({ id, role: 'owner' })
    })
  })
})
