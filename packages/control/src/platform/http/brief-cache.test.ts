import { describe, expect, it } from 'vitest'
import { briefCache } from './brief-cache.ts'

const LONG_MS = 3_600_000

describe('briefCache', () => {
  it('reads once for all who ask while it reads, and while the answer is fresh', async () => {
    let reads = 0
    const held = Promise.withResolvers<void>()
    const read = briefCache(LONG_MS, async () => {
      reads += 1
      await held.promise
      return reads
    })
    const asked = Array.from({ length: 300 }, () => read())
    held.resolve()
    expect(new Set(await Promise.all(asked))).toEqual(new Set([1]))
    expect([await read(), reads]).toEqual([1, 1])
  })

  it('reads anew once the answer is stale', async () => {
    let reads = 0
    const read = briefCache(0, async () => (reads += 1))
    expect([await read(), await read()]).toEqual([1, 2])
  })

  it('shares a failure for as long as an answer', async () => {
    let reads = 0
    const read = briefCache(LONG_MS, async () => {
      reads += 1
      throw new Error('no database')
    })
    await expect(read()).rejects.toThrow('no database')
    await expect(read()).rejects.toThrow('no database')
    expect(reads).toBe(1)
  })
})
