/** One figure as it is printed and written to bench/results/latest.json. */
export interface Figure {
  readonly unit: 'ms' | 'us' | 's' | 'MiB' | 'MiB/s' | '1/s' | 'of 10' | '% of a CPU'
  readonly n: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** Share of the attempts that succeeded, 0 to 1. */
  readonly success: number
  /** The p50 of the same steps done by hand in this run; `null` where there is no such thing. */
  readonly floor: number | null
  /** p50 / floor. */
  readonly ratio: number | null
}

/** Whether more is better: of what is done in a second, that is. */
export const isMoreBetter = ({ unit }: Figure): boolean => unit.endsWith('/s')

/** Milliseconds of a series of rounds at most, in a full run. */
const MAX_ROUNDS_MS = Number(process.env['OFFSHOOT_BENCH_ROUNDS_MS'] ?? Number.POSITIVE_INFINITY)

/** The rounds of a bench: as many as wanted, but none begins once this time has passed; always one. A busy machine gives fewer samples. */
export function* rounds(most: number, withinMs = 40_000): Generator<number> {
  const endsAt = performance.now() + Math.min(withinMs, MAX_ROUNDS_MS)
  for (let i = 0; i < most && (i === 0 || performance.now() < endsAt); i++) yield i
}

/** Nearest-rank percentile; NaN for no samples. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN
}

/** Times of what succeeded, and how many attempts there were. */
export class Samples {
  readonly values: number[] = []
  #attempts = 0

  /** Times `operation` in milliseconds; an attempt that throws counts against `success`, with its reason printed. */
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

/** Times of moving `mib` as rates: higher is better, and p95 is what 95 % of the attempts reach. */
export function inMibPerSecond(times: Samples, mib: number, floor: Samples): Figure {
  const figure = times.figure('MiB/s')
  const rate = (ms: number) => (mib * 1000) / ms
  const [p50, p95, p99] = [rate(figure.p50), rate(figure.p95), rate(figure.p99)]
  return { ...figure, p50, p95, p99, floor: rate(floor.p50), ratio: p50 / rate(floor.p50) }
}
