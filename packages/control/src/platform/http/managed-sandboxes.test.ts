/** @module-tag faults */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

/** Routes that show no more than the list of sandboxes, or refuse every caller. */
const OPEN = new Set(['GET /v1/sandboxes/{id}', 'GET /v1/sandboxes/{id}/lineage', 'DELETE /v1/sandboxes/{id}'])
/** Reads that do not touch the guest. Every other route needs the feature's `write` scope. */
const READS = new Set(
  ['events', 'logs', 'metrics', 'lifecycle', 'ports', 'ports/{port}/links'].map(
    (last) => `GET /v1/sandboxes/{id}/${last}`,
  ),
)

const takes = (scope: string) => ({
  status: 403,
  body: { error: 'insufficient scope', detail: `takes the scope ${scope}` },
})

describe('the machine of a database or an app', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let operations: { method: string; path: string }[]
  let databaseId: string
  let appMachine: string

  beforeAll(async () => {
    agent = await FakeAgent.start({ templates: ['base', 'postgres-16'] })
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    const { body } = await call(control.url, 'GET', '/openapi.json')
    operations = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    )
    databaseId = await fakeDatabase(harness, control, alice)
    appMachine = await makeSandbox()
    await harness.pool.query(`update sandboxes set managed_by = 'app', managed_id = gen_random_uuid() where id = $1`, [
      appMachine,
    ])
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, token: string, body?: unknown) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })

  async function makeSandbox(): Promise<string> {
    return (await ask('POST', '/v1/sandboxes', alice.key, { template: 'base' })).body.id
  }

  async function keyWith(...scopes: string[]): Promise<string> {
    return (await ask('POST', '/v1/me/tokens', alice.jwt, { name: 'scoped', scopes })).body.token
  }

  it('is closed to a key of sandboxes alone, by every route that takes a sandbox', async () => {
    const key = await keyWith('sandboxes:read', 'sandboxes:write')
    const reads = await keyWith('sandboxes:read', 'sandboxes:write', 'databases:read', 'apps:read')
    const below = operations.filter(({ path }) => path.startsWith('/v1/sandboxes/{id}'))
    expect(below.length).toBeGreaterThan(35)
    for (const { method, path } of below) {
      for (const [id, feature] of [
        [databaseId, 'databases'],
        [appMachine, 'apps'],
      ] as const) {
        const operation = `${method} ${path}`
        if (OPEN.has(operation)) continue
        const target = path
          .replace('{id}', id)
          .replace('{lang}', 'python')
          .replaceAll(/\{\w+\}/g, '1')
        const scope = `${feature}:${READS.has(operation) ? 'read' : 'write'}`
        expect([operation, await ask(method, target, key)]).toMatchObject([operation, takes(scope)])
        if (scope.endsWith('write')) expect(await ask(method, target, reads)).toMatchObject(takes(scope))
      }
    }
    expect((await ask('GET', `/v1/sandboxes/${databaseId}`, key)).status).toBe(200)
    expect((await ask('DELETE', `/v1/sandboxes/${databaseId}`, key)).status).toBe(409)
  })

  it('is open to its feature’s keys, to keys without scopes and to tokens', async () => {
    for (const token of [await keyWith('sandboxes:write', 'sandboxes:read', 'databases:write'), alice.key, alice.jwt]) {
      expect((await ask('POST', `/v1/sandboxes/${databaseId}/pause`, token)).status).toBe(200)
      expect((await ask('POST', `/v1/sandboxes/${databaseId}/resume`, token)).status).toBe(200)
    }
    // The feature's scope is needed in addition to the scope for sandboxes.
    const alone = await keyWith('databases:write')
    expect(await ask('POST', `/v1/sandboxes/${databaseId}/pause`, alone)).toMatchObject(takes('sandboxes:write'))
  })

  it('lends its snapshots to no key of sandboxes alone, those that forks leave neither', async () => {
    const key = await keyWith('sandboxes:read', 'sandboxes:write')
    const taken = await ask('POST', `/v1/sandboxes/${databaseId}/snapshots`, alice.key)
    const fork = await ask('POST', `/v1/sandboxes/${appMachine}/fork`, alice.key, {})
    expect([taken.status, fork.status]).toEqual([201, 201])
    for (const [snapshot, feature] of [
      [taken.body.id, 'databases'],
      [fork.body.snapshot_id, 'apps'],
    ]) {
      const read = await ask('GET', `/v1/snapshots/${snapshot}`, key)
      expect(read.status).toBe(200)
      const { template } = read.body
      const body = { template, from_snapshot: snapshot }
      expect(await ask('POST', '/v1/sandboxes', key, body)).toMatchObject(takes(`${feature}:write`))
      expect(await ask('DELETE', `/v1/snapshots/${snapshot}`, key)).toMatchObject(takes(`${feature}:write`))
      expect((await ask('POST', '/v1/sandboxes', alice.key, body)).status).toBe(201)
    }
    const own = await makeSandbox()
    const { body: mine } = await ask('POST', `/v1/sandboxes/${own}/snapshots`, key)
    expect((await ask('POST', '/v1/sandboxes', key, { template: 'base', from_snapshot: mine.id })).status).toBe(201)
  })
})
