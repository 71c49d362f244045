import { afterAll, beforeAll, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { type Answer, call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { PER_TENANT } from './tenant-pool.ts'

let agent: FakeAgent
let harness: Harness
let control: RunningControl
let alice: Tenant
let bob: Tenant

beforeAll(async () => {
  agent = await FakeAgent.start({ templates: ['postgres-16'] })
  harness = await Harness.start()
  control = await harness.control([agent])
  alice = await harness.tenant(control, 'alice')
  bob = await harness.tenant(control, 'bob')
})
afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

/** Counts control's statements that wait for a lock. Jobs wait as well, with other statements. */
async function inUse(pattern: string): Promise<number> {
  const { rows } = await harness.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where application_name = 'offshoot-control'
       and wait_event_type = 'Lock' and query like $1`,
    [pattern],
  )
  return rows[0]?.n ?? 0
}

async function isServed(): Promise<void> {
  for (const token of [bob.key, bob.jwt]) {
    expect((await call(control.url, 'GET', '/v1/sandboxes', { token })).status).toBe(200)
  }
}

it(
  'keeps connections for other workspaces while one floods control with requests that wait',
  { tags: ['faults'] },
  async () => {
    const app = { name: 'flooded', git_url: 'https://git.example.com/flooded.git', auto_deploy: false }
    const { body } = await call(control.url, 'POST', '/v1/apps', { token: alice.key, body: app })
    const ofWorkspace = '%workspace_id = $%'
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
      await eventually(async () => (await inUse(ofWorkspace)) >= PER_TENANT)
      await isServed()
      expect(await inUse(ofWorkspace)).toBe(PER_TENANT)
    } finally {
      await blocker.query('commit')
      blocker.release()
    }
    for (const { status } of await flood) expect(status).toBe(200)
  },
)

it('keeps connections for others while callers flood SQL over HTTP', { tags: ['faults'] }, async () => {
  const id = await fakeDatabase(harness, control, alice)
  const byId = "%d.id = $1 and d.status = 'ready'"
  const blocker = await harness.pool.connect()
  let flood: Promise<Answer[]>
  try {
    await blocker.query('begin; lock table databases in access exclusive mode')
    const path = `/v1/databases/${id}/proxy/v1/health`
    flood = Promise.all(Array.from({ length: 200 }, () => call(control.url, 'GET', path, { token: bob.key })))
    await eventually(async () => (await inUse(byId)) >= PER_TENANT)
    await isServed()
    expect(await inUse(byId)).toBe(PER_TENANT)
  } finally {
    await blocker.query('commit')
    blocker.release()
  }
  // The token is wrong.
  for (const { status } of await flood) expect([401, 429]).toContain(status)
})
