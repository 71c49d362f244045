import type { SandboxMetrics } from '@offshoot/sdk'

type Point = SandboxMetrics['points'][number]
type Values = readonly (number | null)[]

/** Columns of charts: times in seconds, and values at these times. */
export interface MetricSeries {
  readonly times: readonly number[]
  /** Share of one vCPU in percent, so 200 are two busy vCPUs. */
  readonly cpu: Values
  readonly memoryGuest: Values
  readonly memoryHost: Values
  readonly disk: Values
  /** Bytes per second. */
  readonly networkIn: Values
  readonly networkOut: Values
}

/** Makes rates of counters. A point after a gap has a rate over that gap. */
export function seriesOf(points: readonly Point[]): MetricSeries {
  const times = points.map(({ ts }) => Date.parse(ts) / 1000)
  const rate = (of: (point: Point) => number | null): Values =>
    points.map((point, index) => {
      const before = points[index - 1]
      if (before === undefined) return null
      const [now, then] = [of(point), of(before)]
      const seconds = (times[index] ?? 0) - (times[index - 1] ?? 0)
      return now === null || then === null || seconds <= 0 ? null : Math.max(now - then, 0) / seconds
    })
  return {
    times,
    cpu: rate(({ cpuSeconds }) => cpuSeconds).map((share) => share && share * 100),
    memoryGuest: points.map(({ memoryGuestUsedBytes }) => memoryGuestUsedBytes),
    memoryHost: points.map(({ memoryHostPrivateBytes }) => memoryHostPrivateBytes),
    disk: points.map(({ diskBytes }) => diskBytes),
    networkIn: rate(({ networkInBytes }) => networkInBytes),
    networkOut: rate(({ networkOutBytes }) => networkOutBytes),
  }
}
