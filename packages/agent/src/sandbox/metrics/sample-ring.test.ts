import { expect, it } from 'vitest'
import { type Sample, SampleRing } from './sample-ring.ts'

const sampleAt = (atMs: number, guestUsedBytes: number | null = null): Sample => ({
  atMs,
  cpuSeconds: atMs / 1000 + 0.25,
  guestUsedBytes,
  hostPrivateBytes: 2,
  diskBytes: 3,
  networkInBytes: null,
  networkOutBytes: 2 ** 52,
})

it('returns the samples that were added, also their unknown values', () => {
  const ring = new SampleRing(360)
  expect(ring.latestMs).toBeNull()
  expect(ring.points(0, 10_000)).toEqual([])
  ring.push(sampleAt(10_000))
  ring.push(sampleAt(20_000, 7))
  expect(ring.points(0, 10_000)).toEqual([sampleAt(10_000), sampleAt(20_000, 7)])
  expect(ring.latestMs).toBe(20_000)
})

it.each([1, 36, 37, 100])('keeps only the latest %i samples, in order', (maxRows) => {
  const ring = new SampleRing(maxRows)
  for (let n = 1; n <= 3 * maxRows + 5; n++) {
    ring.push(sampleAt(n * 1000))
    const kept = ring.points(0, 1000)
    const first = Math.max(1, n - maxRows + 1)
    expect(kept).toHaveLength(Math.min(n, maxRows))
    expect([kept[0]?.atMs, kept.at(-1)?.atMs]).toEqual([first * 1000, n * 1000])
  }
  const times = ring.points(0, 1000).map(({ atMs }) => atMs)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})

it('returns the last sample of each interval since a given time, and none for an interval without samples', () => {
  const ring = new SampleRing(360)
  for (const second of [1, 11, 21, 59, 61, 119, 305]) ring.push(sampleAt(second * 1000))
  const seconds = (sinceMs: number, stepMs: number) => ring.points(sinceMs, stepMs).map(({ atMs }) => atMs / 1000)
  expect(seconds(0, 60_000)).toEqual([59, 119, 305])
  expect(seconds(60_000, 60_000)).toEqual([119, 305])
  expect(seconds(119_000, 60_000)).toEqual([119, 305])
  expect(seconds(119_001, 60_000)).toEqual([305])
  expect(seconds(0, 3_600_000)).toEqual([305])
  expect(seconds(306_000, 10_000)).toEqual([])
})

it('uses the guest’s answer for the whole interval in which it was asked', () => {
  const ring = new SampleRing(360)
  ring.push(sampleAt(10_000, 5))
  ring.push(sampleAt(20_000))
  ring.push(sampleAt(70_000))
  expect(ring.points(0, 60_000).map(({ guestUsedBytes }) => guestUsedBytes)).toEqual([5, null])
})
