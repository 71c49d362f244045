/** @module-tag faults */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVENTS_SILENCE_MS } from './agent-client.ts'
import { ProcessLock } from '../platform/db/process-lock.ts'
import { FakeAgent } from '../test/fake-agent.ts'
import { FragileAddress } from '../test/fragile-address.ts'
import { call, eventually, Harness } from '../test/harness.ts'

/** Milliseconds before a stream of this agent counts as dead, because it sends no heartbeats. */
const SOON_MS = EVENTS_SILENCE_MS / 2

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
    await first.stop()
  })

  it('of which the leader loses its lock: one of them follows the agent', async () => {
    const controls = [await harness.control([agent]), await harness.control([agent])]
    await eventually(() => agent.streams.size === 1)
    const followed = () => agent.requests.filter(({ path }) => path.startsWith('/v1/agent/events')).length
    const before = followed()
    const { rowCount } = await harness.pool.query(
      `select pg_terminate_backend(pid) from pg_locks
       where locktype = 'advisory' and classid = $1 and pid <> pg_backend_pid()`,
      [ProcessLock.AGENT],
    )
    expect(rowCount).toBe(1)
    await eventually(() => followed() > before)
    await eventually(() => agent.streams.size === 1, SOON_MS)
    for (const control of controls) await control.stop()
  })
})
