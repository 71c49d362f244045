import { expect, it } from 'vitest'
import { seriesOf } from './series.ts'

const point = (second: number, cpuSeconds: number, networkInBytes: number | null) => ({
  ts: new Date(second * 1000).toISOString(),
  cpuSeconds,
  memoryGuestUsedBytes: null,
  memoryHostPrivateBytes: 7,
  diskBytes: 8,
  networkInBytes,
  networkOutBytes: 0,
})

it('makes rates of counters, over the time that has really passed', () => {
  const { times, cpu, networkIn, disk } = seriesOf([point(10, 1, 0), point(20, 3, 500), point(40, 4, null)])
  expect(times).toEqual([10, 20, 40])
  expect(cpu).toEqual([null, 20, 5])
  expect(networkIn).toEqual([null, 50, null])
  expect(disk).toEqual([8, 8, 8])
})

it('shows no negative rate if a counter begins again', () => {
  expect(seriesOf([point(10, 9, 9), point(20, 1, 1)]).cpu).toEqual([null, 0])
})
