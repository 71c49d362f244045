/** One figure as printed and as stored in bench/results/latest.json. */
export interface Figure {
  readonly unit: 'ms' | 'us' | 's' | 'KiB' | 'MiB' | 'MiB/s' | '1/s' | 'of 10' | '% of a CPU' | 'million'
  readonly n: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** Share of successful attempts, 0 to 1. */
  readonly success: number
  /** The p50 of the same steps by hand, in this run; `null` if there is no such floor. */
  readonly floor: number | null
  /** p50 / floor. */
  readonly ratio: number | null
}

/** Whether a larger value is better, which is true for rates. */
export const isMoreBetter = ({ unit }: Figure): boolean => unit.endsWith('/s')

/** Maximum milliseconds of a series of rounds in a full run. */
const MAX_ROUNDS_MS = Number(process.env['OFFSHOOT_BENCH_ROUNDS_MS'] ?? Number.POSITIVE_INFINITY)

/** Whether this run measures everything, so that each bench has little time. */
export const isFullRun = Number.isFinite(MAX_ROUNDS_MS)

/**
 * Yields up to `most` rounds, but at least one, until the time has passed. On a busy machine there are fewer samples.
 */
export function* rounds(most: number, withinMs = 40_000): Generator<number> {
  const endsAt = performance.now() + Math.min(withinMs, MAX_ROUNDS_MS)
  for (let i = 0; i < most && (i === 0 || performance.now() < endsAt); i++) yield i
}

/** Nearest-rank percentile; NaN without samples. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN
}

/** Durations of successful attempts, and the number of all attempts. */
export class Samples {
  readonly values: number[] = []
  #attempts = 0

  /** Measures `operation` in milliseconds. An attempt that throws lowers `success`, and its error is printed. */
  async time<T>(operation: () => Promise<T>): Promise<T | null> {
    this.#attempts++
    const startedAt = performance.now()
    try {
      const result = await operation()
      this.values.push(performance.now() - startedAt)
      return result
    } catch (error) {
      console.error(`failed: ${error instanceof Error ? error.message : String(error)}`)
      return null
    }
  }

  add(value: number): void {
    this.#attempts++
    this.values.push(value)
  }

  get p50(): number {
    return percentile(this.values, 50)
  }

  figure(unit: Figure['unit'], floor: number | null = null): Figure {
    return {
      unit,
      n: this.#attempts,
      p50: this.p50,
      p95: percentile(this.values, 95),
      p99: percentile(this.values, 99),
      success: this.#attempts === 0 ? 0 : this.values.length / this.#attempts,
      floor,
      ratio: floor === null ? null : this.p50 / floor,
    }
  }
}

/** Converts durations of moving `mib` to rates: larger is better, and 95 % of the attempts reach the p95. */
export function inMibPerSecond(times: Samples, mib: number, floor: Samples): Figure {
  const figure = times.figure('MiB/s')
  const rate = (ms: number) => (mib * 1000) / ms
  const [p50, p95, p99] = [rate(figure.p50), rate(figure.p95), rate(figure.p99)]
  return { ...figure, p50, p95, p99, floor: rate(floor.p50), ratio: p50 / rate(floor.p50) }
}
