import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

describe('versions whose sandbox is gone', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    // The agent lacks the apps' template, so every queued deployment fails and records why.
    agent = await FakeAgent.start({ templates: ['base'] })
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const as = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })

  it('are built again from the same commit, once', async () => {
    const body = { name: 'app', git_url: 'https://git.example.com/x.git' }
    const { id } = (await as('POST', '/v1/apps', body)).body
    const commit = 'c'.repeat(40)
    const deployment = randomUUID()
    await harness.pool.query(
      `insert into app_deployments (id, app_id, status, git_ref, git_commit, origin_id, sandbox_id, port, was_live, finished_at)
       values ($1, $2, 'live', 'main', $3, $1, gen_random_uuid(), 3000, true, now() - interval '1 minute')`,
      [deployment, id, commit],
    )
    // A later deployment of the same build that failed changes nothing.
    await harness.pool.query(
      `insert into app_deployments (id, app_id, status, git_ref, git_commit, origin_id, port, finished_at)
       values ($1, $2, 'failed', 'main', $3, $1, 3000, now())`,
      [randomUUID(), id, commit],
    )
    await harness.pool.query('update apps set active_deployment_id = $2 where id = $1', [id, deployment])
    const rows = await eventually(async () => {
      const { body: all } = await as('GET', `/v1/apps/${id}/deploys`)
      return all.length === 3 && all[0].status === 'failed' ? all : null
    })
    expect(rows).toMatchObject([
      { status: 'failed', git_commit: commit, error: expect.stringContaining('unknown template: app') },
      { status: 'failed', git_commit: commit },
      { id: deployment, status: 'live' },
    ])
    expect((await as('GET', `/v1/apps/${id}`)).body.status).toBe('error')
    const { rows: counted } = await harness.pool.query('select count(*)::int from app_deployments where app_id = $1', [
      id,
    ])
    expect(counted[0].count).toBe(3)
  })
})
