/** @module-tag long */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { hasPooler, Pooler } from '../../test/pooler.ts'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'

/** Fewer than a control process opens, so that its transactions take turns on them. */
const SERVER_CONNECTIONS = 3
const CALLERS = 30

describe.skipIf(!hasPooler)('control with a pooler in front of PostgreSQL', () => {
  let postgres: TestPostgres
  let pooler: Pooler
  let harness: Harness
  let agent: FakeAgent
  let first: RunningControl
  let second: RunningControl
  let tenant: Tenant

  beforeAll(async () => {
    postgres = await startPostgres()
    pooler = await Pooler.before(postgres, SERVER_CONNECTIONS)
    harness = await Harness.on(postgres)
    agent = await FakeAgent.start()
    const database = { ...harness.settings.database, pooler: pooler.address }
    first = await harness.control([agent], { database })
    second = await harness.control([agent], { database })
    tenant = await harness.tenant(first, 'tenant')
  })
  afterAll(async () => {
    await harness.stop()
    await pooler.stop()
    await agent.kill()
  })

  const ask = (at: RunningControl, method: string, path: string, body?: unknown) =>
    call(at.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const idsAt = async (at: RunningControl) =>
    (await ask(at, 'GET', '/v1/sandboxes?limit=1000')).body.map(({ id }: { id: string }) => id)
  const byTurns = (n: number) => (n % 2 === 0 ? first : second)

  it('serves many requests on few connections', async () => {
    const answers = await Promise.all(
      Array.from({ length: CALLERS }, (_, n) => ask(byTurns(n), 'POST', '/v1/sandboxes', { template: 'base' })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    const ids = answers.map(({ body }) => body.id as string)
    expect(new Set(await idsAt(second))).toEqual(new Set(ids))
    const removed = await Promise.all(ids.map((id, n) => ask(byTurns(n + 1), 'DELETE', `/v1/sandboxes/${id}`)))
    expect(new Set(removed.map(({ status }) => status))).toEqual(new Set([204]))
  })

  it('hears of changes, and does jobs, by connections of its own', async () => {
    const { body: sandbox } = await ask(first, 'POST', '/v1/sandboxes', { template: 'base', ttl_seconds: 1 })
    await eventually(async () => !(await idsAt(second)).includes(sandbox.id))
    expect(await ask(first, 'GET', `/v1/sandboxes/${sandbox.id}`)).toMatchObject({ status: 404 })
  })

  it('answers 502 while the pooler is away, and serves when it is back', async () => {
    await pooler.kill()
    expect(await ask(first, 'GET', '/v1/sandboxes')).toMatchObject({ status: 502 })
    await pooler.startAgain()
    await eventually(async () => (await ask(first, 'GET', '/v1/sandboxes')).status === 200)
    expect(await ask(second, 'POST', '/v1/sandboxes', { template: 'base' })).toMatchObject({ status: 201 })
  })
})
