import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { underLease, whileRenewing } from './lease.ts'

/** The size of control's connection pool. */
const ALL_CONNECTIONS = 20

describe('a lease', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant
  let on: Parameters<typeof underLease>[0]

  beforeAll(async () => {
    agent = await FakeAgent.start({ templates: ['postgres-16'] })
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    on = { pool: control.control.database.pool, lock: control.control.lock }
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  it('lets one after the other work under its name, and writes for each', async () => {
    let atWork = 0
    const most: number[] = []
    const numbers = await Promise.all(
      Array.from({ length: 8 }, () =>
        underLease(on, 'a', async (commit) => {
          atWork += 1
          most.push(atWork)
          const { rows } = await commit((client) => client.query<{ n: number }>('select 1 as n'))
          atWork -= 1
          return rows[0]?.n
        }),
      ),
    )
    expect([numbers, Math.max(...most)]).toEqual([numbers.map(() => 1), 1])
  })

  it('is taken over from a process that died, whose own write is refused', async () => {
    const late = underLease(on, 'b', async (commit) => {
      await harness.pool.query(`update leases set creator = -1 where name = 'b'`)
      await underLease(on, 'b', async () => undefined)
      return commit(async () => 'written')
    })
    await expect(late).rejects.toMatchObject({ kind: 'conflict' })
  })

  it('is renewed as long as work goes on, also after a renewal that fails', async () => {
    let renewals = 0
    const renew = async () => {
      renewals += 1
      if (renewals === 1) throw new Error('away')
    }
    await whileRenewing(1, renew, () => eventually(() => renewals >= 3))
    const after = renewals
    await whileRenewing(
      1,
      async () => undefined,
      () => eventually(() => renewals === after),
    )
  })

  it('ends with work that fails', async () => {
    await expect(underLease(on, 'c', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await underLease(on, 'c', async () => 'free')).toBe('free')
  })

  it('holds no connection to PostgreSQL while guests of one tenant keep control waiting', async () => {
    const waiting = new Set<unknown>()
    agent.onUpgrade = (_request, socket) => waiting.add(socket)
    const ids = await Promise.all(Array.from({ length: ALL_CONNECTIONS }, () => fakeDatabase(harness, control, alice)))
    const hangUp = new AbortController()
    const resets = ids.map((id) =>
      call(control.url, 'POST', `/v1/databases/${id}/reset-credentials`, {
        token: alice.key,
        body: {},
        signal: hangUp.signal,
      }).catch(() => null),
    )
    await eventually(() => waiting.size === ids.length)
    expect((await call(control.url, 'GET', '/v1/databases', { token: bob.key })).status).toBe(200)
    hangUp.abort()
    await Promise.all(resets)
  })
})
