import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FragileAddress } from '../../test/fragile-address.ts'
import { eventually } from '../../test/harness.ts'
import { startMigratedPostgres, type TestPostgres } from '../../test/postgres.ts'
import { ProcessLock } from './process-lock.ts'

/** Short, because the tests wait for its end. */
const LEASE_MS = 1_000

describe('the lock of a control process', () => {
  let postgres: TestPostgres
  let network: FragileAddress
  let locks: ProcessLock[]
  const agent = randomUUID()

  beforeAll(async () => {
    postgres = await startMigratedPostgres()
  })

  beforeEach(async () => {
    locks = []
    network = await FragileAddress.before(postgres)
  })

  afterEach(async () => {
    network.close()
    await Promise.all(locks.map((lock) => lock.release()))
  })

  afterAll(() => postgres.stop('SIGINT'))

  const take = async ({ host, port }: { readonly host: string; readonly port: number }) => {
    const { user, password } = postgres
    const lock = await ProcessLock.take({ host, port, user, password, database: 'postgres' }, LEASE_MS)
    locks.push(lock)
    return lock
  }

  it('gives an agent to one process at a time, and to the next when it is released', async () => {
    const [first, second] = [await take(network), await take(postgres)]
    expect([await first.tryLead(agent), await second.tryLead(agent), await first.tryLead(agent)]).toEqual([
      true,
      false,
      true,
    ])
    await first.stopLeading(agent)
    expect([await second.tryLead(agent), await first.tryLead(agent)]).toEqual([true, false])
  })

  it.each(['toTarget', 'toCaller'] as const)(
    'is lost when the network loses everything %s, and taken anew afterwards',
    { tags: ['faults'] },
    async (direction) => {
      const [cut, other] = [await take(network), await take(postgres)]
      const { held, number } = cut
      expect(await cut.tryLead(agent)).toBe(true)
      network.lose(direction)
      await eventually(() => other.tryLead(agent))
      await eventually(() => cut.held !== held)
      network.mend()
      await eventually(() => cut.held)
      expect(cut.number).not.toBe(number)
      expect(await cut.tryLead(agent)).toBe(false)
    },
  )

  it('is kept for longer than a lease by a process that renews it', async () => {
    const [lock, other] = [await take(network), await take(postgres)]
    const { held } = lock
    expect(await lock.tryLead(agent)).toBe(true)
    const begun = performance.now()
    await eventually(() => performance.now() - begun > 2 * LEASE_MS)
    expect(lock.held).toBe(held)
    expect(await other.tryLead(agent)).toBe(false)
  })

  it('is lost once, however many statements wait for an answer that never comes', { tags: ['faults'] }, async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    const lock = await take(network)
    const { held } = lock
    network.slowDown(100)
    const leads = Array.from({ length: 40 }, () => lock.tryLead(randomUUID()).catch(() => false))
    // As long as 15 renewals.
    await delay(2.5 * LEASE_MS)
    expect(lock.held).toBe(held)
    network.lose('toCaller')
    await eventually(() => lock.held !== held)
    expect((await Promise.all(leads)).some((leading) => !leading)).toBe(true)
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })
})
