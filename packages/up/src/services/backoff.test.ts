import { describe, expect, it } from 'vitest'
import { Backoff, type Death } from './backoff.ts'

const FAILED_START: Death = { ranMs: 50, wasReady: false }
const KILLED: Death = { ranMs: 3000, wasReady: true }

function delays(backoff: Backoff, deaths: readonly Death[]): (number | null)[] {
  return deaths.map((death) => backoff.afterDeath(death))
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value)
}

describe('Backoff', () => {
  it('waits twice as long each time, up to a bound, and then gives up', () => {
    const waits = delays(new Backoff(), times(11, FAILED_START))
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, null])
  })

  it('never gives up what comes to be ready, nor lets it wait for long', () => {
    const waits = delays(new Backoff(), times(100, KILLED))
    expect(waits.slice(0, 5)).toEqual([100, 200, 400, 800, 1000])
    expect(new Set(waits.slice(5))).toEqual(new Set([1000]))
  })

  it('goes on with what has served and cannot start any more, with long pauses', () => {
    const backoff = new Backoff()
    delays(backoff, [KILLED])
    expect(delays(backoff, times(20, FAILED_START)).slice(-10)).toEqual(times(10, 10_000))
  })

  it('begins again after a process that had run for a while', () => {
    const backoff = new Backoff()
    delays(backoff, times(3, FAILED_START))
    expect(delays(backoff, [{ ranMs: 20_000, wasReady: false }, FAILED_START])).toEqual([100, 200])
  })
})
