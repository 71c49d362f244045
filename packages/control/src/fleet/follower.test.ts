/** @module-tag faults */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../test/fake-agent.ts'
import { FragileAddress } from '../test/fragile-address.ts'
import { call, eventually, Harness } from '../test/harness.ts'

describe('two control processes', () => {
  let harness: Harness
  let agent: FakeAgent
  let network: FragileAddress

  beforeAll(async () => {
    harness = await Harness.start()
    agent = await FakeAgent.start()
    network = await FragileAddress.before({ host: '127.0.0.1', port: agent.port })
  })

  afterAll(async () => {
    await harness.stop()
    network.close()
    await agent.kill()
  })

  it('of which the leader cannot reach the agent any more: the other one follows it, until that ends', async () => {
    const first = await harness.control([{ url: `http://127.0.0.1:${network.port}`, secret: agent.secret }])
    await eventually(() => agent.requests.some(({ path }) => path.startsWith('/v1/agent/events')))
    const second = await harness.control([agent])
    const { key: token } = await harness.tenant(second, 'tenant')
    const created = await call(second.url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })
    const { id } = created.body
    const becomes = (status: string) =>
      eventually(async () => {
        const { rows } = await harness.pool.query('select status from sandboxes where id = $1', [id])
        return rows[0]?.status === status
      })
    network.refuse()
    agent.log('sandbox.paused', id)
    expect(await becomes('paused')).toBe(true)
    network.mend()
    await eventually(() => first.control.fleet.agents[0]?.isReachable)
    await second.stop()
    agent.log('sandbox.resumed', id)
    expect(await becomes('running')).toBe(true)
  })
})
