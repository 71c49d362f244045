import { expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { type Answer, call, eventually, Harness } from '../../test/harness.ts'
import { PER_TENANT } from './tenant-pool.ts'

it('keeps connections for other workspaces while one floods control with requests that wait', async () => {
  const agent = await FakeAgent.start()
  const harness = await Harness.start()
  const control = await harness.control([agent])
  const [alice, bob] = [await harness.tenant(control, 'alice'), await harness.tenant(control, 'bob')]
  const app = { name: 'flooded', git_url: 'https://git.example.com/flooded.git', auto_deploy: false }
  const { body } = await call(control.url, 'POST', '/v1/apps', { token: alice.key, body: app })
  const inUse = async () => {
    // Jobs wait for the locks as well, but not with statements for one workspace.
    const { rows } = await harness.pool.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where application_name = 'offshoot-control'
         and wait_event_type = 'Lock' and query like '%workspace_id = $%'`,
    )
    return rows[0]?.n ?? 0
  }
  /** One in three has a body and a transaction. */
  const ask = (index: number) => {
    const token = index % 2 === 0 ? alice.key : alice.jwt
    if (index % 3 > 0) return call(control.url, 'GET', '/v1/snapshots', { token })
    return call(control.url, 'PATCH', `/v1/apps/${body.id}`, { token, body: { auto_deploy: false } })
  }
  const blocker = await harness.pool.connect()
  let flood: Promise<Answer[]>
  try {
    // Alice's requests wait for these locks.
    await blocker.query('begin; lock table snapshots, apps in access exclusive mode')
    flood = Promise.all(Array.from({ length: 500 }, (_, index) => ask(index)))
    await eventually(async () => (await inUse()) >= PER_TENANT)
    for (const token of [bob.key, bob.jwt]) {
      expect((await call(control.url, 'GET', '/v1/sandboxes', { token })).status).toBe(200)
    }
    expect(await inUse()).toBe(PER_TENANT)
  } finally {
    await blocker.query('commit')
    blocker.release()
  }
  for (const { status } of await flood) expect(status).toBe(200)
  await harness.stop()
  await agent.kill()
})
