import { afterAll, beforeAll, expect, it } from 'vitest'
import { FakeAgent } from '../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../test/harness.ts'

let harness: Harness
let agent: FakeAgent
let control: RunningControl
let tenant: Tenant

beforeAll(async () => {
  harness = await Harness.start()
  agent = await FakeAgent.start()
  control = await harness.control([agent])
  tenant = await harness.tenant(control, 'alice')
})
afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

const ask = async (method: string, path: string, body?: object) =>
  (await call(control.url, method, `/v1/${path}`, { token: tenant.key, ...(body && { body }) })).body
const orphaned = async () => ask('GET', 'events?type=recover.orphaned')

/** Its VM vanishes without a record. */
async function vanish(id: string): Promise<void> {
  agent.state.sandboxes.delete(id)
  agent.cutStreams()
  await eventually(async () => {
    const { rows } = await harness.pool.query('select status from sandboxes where id = $1', [id])
    return rows[0]?.status === 'failed'
  })
}

it('tells a workspace of each of its sandboxes once', async () => {
  const ids: string[] = []
  for (let n = 1; n <= 2; n++) {
    const { id } = await ask('POST', 'sandboxes', { template: 'base' })
    await vanish(id)
    ids.unshift(id)
    expect(await orphaned()).toMatchObject(ids.map((each) => ({ sandbox_id: each, code: 'warn', agent_id: null })))
  }
})

it('tells nobody of a sandbox in which control verified a backup', async () => {
  const before = await orphaned()
  const { id } = await ask('POST', 'sandboxes', { template: 'base' })
  await harness.pool.query(`update sandboxes set managed_by = 'proof' where id = $1`, [id])
  await vanish(id)
  expect(await orphaned()).toEqual(before)
})
