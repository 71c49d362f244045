import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Seed } from './seed.ts'
import { Pool, type PoolOptions } from './pool.ts'
import type { PoolZygote, Spare } from './spare.ts'
import { EXPECTED_ZYGOTE_MIB, Zygotes } from './zygotes.ts'

const seed = { manifest: { bake: 'minimal/1', template: 'minimal' }, checkpoint: null } as unknown as Seed
const SPARE_MIB = 40
const ZYGOTE_MIB = 200
let made: (Spare & { end: () => void })[]
let removed: Spare[]
let removedZygotes: PoolZygote[]
let host: { isBusy: boolean; isShort: boolean; hasMemory: boolean; refusesRemoval: boolean; allowsZygotes: boolean }

beforeEach(() => {
  vi.useFakeTimers()
  made = []
  removed = []
  removedZygotes = []
  host = { isBusy: false, isShort: false, hasMemory: true, refusesRemoval: false, allowsZygotes: false }
})
afterEach(() => vi.useRealTimers())

function poolOf(change: Partial<PoolOptions> = {}): Pool {
  const zygotes = new Zygotes({
    isWanted: () => host.allowsZygotes,
    make: async (wanted) => {
      const { promise, resolve } = Promise.withResolvers<unknown>()
      const zygote = { vm: { ended: promise }, end: () => resolve(null) }
      return { seed: wanted, memoryMib: ZYGOTE_MIB, zygote } as unknown as PoolZygote
    },
    remove: async (zygote) => void removedZygotes.push(zygote),
    log: pino({ level: 'silent' }),
  })
  const pool = new Pool({
    memoryMib: 512,
    zygotes,
    make: async (wanted) => {
      if (!host.hasMemory) return null
      const { promise, resolve } = Promise.withResolvers<unknown>()
      const isCopy = zygotes.of(wanted.manifest.bake) !== null
      const vm = { ended: promise }
      const spare = { seed: wanted, memoryMib: SPARE_MIB, isCopy, vm, end: () => resolve(null) }
      made.push(spare as unknown as (typeof made)[number])
      return spare as unknown as Spare
    },
    remove: async (spare) => {
      if (host.refusesRemoval) throw new Error('busy')
      removed.push(spare)
    },
    isBusy: () => host.isBusy,
    isShort: async () => host.isShort,
    log: pino({ level: 'silent' }),
    ...change,
  })
  pool.start([seed])
  return pool
}

async function ask(pool: Pool, times: number): Promise<void> {
  for (let i = 0; i < times; i++) pool.take(seed)
  await vi.advanceTimersByTimeAsync(3000)
}

it('is empty before the first create, then has as many spares as recent creates; each is taken once, oldest first', async () => {
  const pool = poolOf()
  await vi.advanceTimersByTimeAsync(3000)
  expect(made).toHaveLength(0)
  expect(pool.take(seed)).toBeNull()
  await ask(pool, 2)
  expect(made).toHaveLength(3)
  const [first, second] = made
  expect([pool.take(seed), pool.take(seed)]).toEqual([first, second])
  expect(pool.spares).not.toContain(first)
  expect(pool.taken).toEqual({ hits: 2, misses: 3 })
  expect(pool.take({ ...seed, manifest: { ...seed.manifest, bake: 'minimal/2' } })).toBeNull()
  expect(pool.take({ ...seed, checkpoint: { folder: '', bases: 0, layers: [] } })).toBeNull()
})

it('stays empty with a memory limit of 0', async () => {
  const pool = poolOf({ memoryMib: 0 })
  await ask(pool, 8)
  expect(made).toHaveLength(0)
})

it('stays within its memory limit', async () => {
  const pool = poolOf({ memoryMib: 2.5 * SPARE_MIB })
  await ask(pool, 8)
  expect(pool.spares).toHaveLength(2)
})

it('makes no spare while sandboxes are being restored', async () => {
  const pool = poolOf()
  host.isBusy = true
  await ask(pool, 1)
  expect(made).toHaveLength(0)
  host.isBusy = false
  await vi.advanceTimersByTimeAsync(500)
  expect(made).toHaveLength(1)
})

it('evicts all spares while the host is short of memory', async () => {
  const pool = poolOf()
  await ask(pool, 4)
  host.isShort = true
  host.hasMemory = false
  await vi.advanceTimersByTimeAsync(500)
  expect(pool.spares).toEqual([])
  expect(removed).toHaveLength(4)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(made).toHaveLength(4)
})

it('evicts one spare for its memory, and reports when there is none', async () => {
  const pool = poolOf()
  await ask(pool, 1)
  expect(await pool.evictOne()).toBe(true)
  expect(removed).toEqual(made)
  expect(await pool.evictOne()).toBe(false)
})

it('cancels the spare being made, and waits for the memory of spares being removed', async () => {
  const pool = poolOf({
    make: (_seed, cancelled) =>
      new Promise((_resolve, reject) => cancelled.addEventListener('abort', () => reject(cancelled.reason as Error))),
  })
  await ask(pool, 1)
  expect(await pool.evictOne()).toBe(true)
  expect(await pool.evictOne()).toBe(false)

  const removal = Promise.withResolvers<void>()
  const other = poolOf({ remove: async () => removal.promise })
  await ask(other, 1)
  const [first, second] = [other.evictOne(), other.evictOne()]
  removal.resolve()
  expect([await first, await second]).toEqual([true, true])
})

it('evicts the spares of a template without creates for ten minutes', async () => {
  const pool = poolOf()
  await ask(pool, 2)
  await vi.advanceTimersByTimeAsync(601_000)
  expect(pool.spares).toEqual([])
  expect(removed).toHaveLength(2)
})

it('replaces a spare whose VM ended, and removes its remains', async () => {
  const pool = poolOf()
  await ask(pool, 1)
  made[0]?.end()
  await vi.advanceTimersByTimeAsync(1000)
  expect(removed).toEqual(made.slice(0, 1))
  expect(pool.spares).toEqual(made.slice(1))
})

it('retries after a failure, also a failed removal', async () => {
  const pool = poolOf()
  await ask(pool, 1)
  host.refusesRemoval = true
  await pool.evictOne()
  expect(pool.spares).toEqual([])
  host.refusesRemoval = false
  await vi.advanceTimersByTimeAsync(11_000)
  expect(removed).toEqual(made.slice(0, 1))
  expect(made).toHaveLength(2)
})

it('leaves no spare when it is closed, not even the one being made', async () => {
  const { promise, resolve } = Promise.withResolvers<Spare>()
  const pool = poolOf({ make: async () => promise })
  pool.take(seed)
  await vi.advanceTimersByTimeAsync(500)
  const closed = pool.close()
  const late = { seed, memoryMib: SPARE_MIB, vm: { ended: new Promise(() => undefined) } } as unknown as Spare
  resolve(late)
  await closed
  expect(removed).toEqual([late])
  await vi.advanceTimersByTimeAsync(5000)
  expect(pool.spares).toEqual([])
})

describe('a zygote', () => {
  beforeEach(() => (host.allowsZygotes = true))

  it('is made after several creates of its template; copies of it replace the other spares and are taken first', async () => {
    const pool = poolOf()
    await ask(pool, 2)
    expect(made.map(({ isCopy }) => isCopy)).toEqual([false, false])
    await ask(pool, 1)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(pool.spares.every(({ isCopy }) => isCopy)).toBe(true)
    expect(removed.every(({ isCopy }) => !isCopy)).toBe(true)
    expect(pool.take(seed)?.isCopy).toBe(true)
  })

  it('is made in the place of all spares but one, if there is no room for more', async () => {
    const pool = poolOf({ memoryMib: EXPECTED_ZYGOTE_MIB + 1.5 * SPARE_MIB })
    await ask(pool, 2)
    expect(made).toHaveLength(2)
    await ask(pool, 2)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(pool.spares.every(({ isCopy }) => isCopy)).toBe(true)
    expect(pool.spares.length).toBeGreaterThan(0)
  })

  it('is made for starts from checkpoints alone, and then needs no spare', async () => {
    const pool = poolOf()
    for (let i = 0; i < 3; i++) pool.noteRestore(seed.manifest.bake)
    pool.noteRestore('unknown/1')
    await vi.advanceTimersByTimeAsync(3000)
    expect(made).toHaveLength(0)
    expect(await pool.evictOne()).toBe(true)
    expect(removedZygotes).toHaveLength(1)
  })

  it('is not made without room for it', async () => {
    const pool = poolOf({ memoryMib: 250 })
    await ask(pool, 4)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(pool.spares.some(({ isCopy }) => isCopy)).toBe(false)
  })

  it('is evicted after the spares, and ends with the pool', async () => {
    const pool = poolOf()
    await ask(pool, 4)
    await vi.advanceTimersByTimeAsync(20_000)
    while (pool.spares.length > 0) expect(await pool.evictOne()).toBe(true)
    expect(removedZygotes).toHaveLength(0)
    expect(await pool.evictOne()).toBe(true)
    expect(removedZygotes).toHaveLength(1)
    expect(await pool.evictOne()).toBe(false)
    await pool.close()
  })
})
