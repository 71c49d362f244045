import { describe, expect, it } from 'vitest'
import { Backoff } from './backoff.ts'

function delays(backoff: Backoff, ranMs: readonly number[]): (number | null)[] {
  return ranMs.map((ms) => backoff.afterDeath(ms))
}

describe('Backoff', () => {
  it('waits twice as long each time, up to a bound, and then gives up', () => {
    const waits = delays(new Backoff(), Array(11).fill(50) as number[])
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, null])
  })

  it('begins again after a process that had run for a while', () => {
    const backoff = new Backoff()
    delays(backoff, [50, 50, 50])
    expect(delays(backoff, [20_000, 50])).toEqual([100, 200])
  })
})
