import { describe, expect, it } from 'vitest'
import { FairLimit } from './fair-limit.ts'

/** Takes permits until none is left. @returns the functions that release them */
function exhaust(limit: FairLimit, key: string): (() => void)[] {
  const taken: (() => void)[] = []
  for (let release = limit.take(key); release !== null; release = limit.take(key)) taken.push(release)
  return taken
}

describe('FairLimit', () => {
  it('gives one key its own limit at most', () => {
    const limit = new FairLimit(8, 100)
    expect(exhaust(limit, 'a')).toHaveLength(8)
    expect(exhaust(limit, 'b')).toHaveLength(8)
  })

  it('leaves permits for another key, however many keys take all they can', () => {
    const limit = new FairLimit(64, 64)
    expect(exhaust(limit, 'a')).toHaveLength(32)
    for (const key of ['b', 'c', 'd', 'e']) expect(exhaust(limit, key).length).toBeGreaterThan(0)
    expect(limit.take('f')).not.toBe(null)
  })

  it('takes a permit back once, and gives it again', () => {
    const limit = new FairLimit(1, 10)
    const release = limit.take('a')
    expect(limit.take('a')).toBe(null)
    release?.()
    const again = limit.take('a')
    release?.()
    expect([again, limit.take('a')]).toEqual([expect.any(Function), null])
  })
})
