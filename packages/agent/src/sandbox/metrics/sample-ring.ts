/** Columns of a sample. `NaN` is an unknown value. */
const COLUMNS = 7
/** Initial rows. Most sandboxes live less than an hour. */
const FIRST_ROWS = 36

/** The measurements of one sandbox at one time. */
export interface Sample {
  /** Milliseconds of Unix time. */
  readonly atMs: number
  readonly cpuSeconds: number
  readonly guestUsedBytes: number | null
  readonly hostPrivateBytes: number
  readonly diskBytes: number
  readonly networkInBytes: number | null
  readonly networkOutBytes: number | null
}

/**
 * The latest samples of one sandbox, at most `maxRows`. One typed array that grows on demand, because an agent keeps the rings
 * of thousands of sandboxes: an hour of one sample per 10 s takes 20 KB.
 */
export class SampleRing {
  readonly #maxRows: number
  #rows: Float64Array
  /** Index of the oldest row. */
  #first = 0
  #count = 0

  constructor(maxRows: number) {
    this.#maxRows = maxRows
    this.#rows = new Float64Array(Math.min(FIRST_ROWS, maxRows) * COLUMNS)
  }

  get #capacity(): number {
    return this.#rows.length / COLUMNS
  }

  /** Milliseconds of Unix time of the latest sample; `null` if there is none. */
  get latestMs(): number | null {
    return this.#count === 0 ? null : this.#at(this.#count - 1).atMs
  }

  push(sample: Sample): void {
    if (this.#count === this.#capacity && this.#capacity < this.#maxRows) this.#grow()
    if (this.#count === this.#capacity) this.#first = (this.#first + 1) % this.#capacity
    else this.#count += 1
    const row = (this.#first + this.#count - 1) % this.#capacity
    const { atMs, cpuSeconds, guestUsedBytes, hostPrivateBytes, diskBytes, networkInBytes, networkOutBytes } = sample
    const known = [guestUsedBytes, networkInBytes, networkOutBytes].map((value) => value ?? Number.NaN)
    this.#rows.set([atMs, cpuSeconds, hostPrivateBytes, diskBytes, ...known], row * COLUMNS)
  }

  /**
   * The last sample of each interval of `stepMs`, oldest first. Intervals begin at multiples of the step since 1970, so that a
   * caller gets the same intervals again.
   * @param sinceMs omits earlier samples
   */
  points(sinceMs: number, stepMs: number): Sample[] {
    const points: Sample[] = []
    let interval = Number.NaN
    for (let index = 0; index < this.#count; index++) {
      const sample = this.#at(index)
      if (sample.atMs < sinceMs) continue
      const itsInterval = Math.floor(sample.atMs / stepMs)
      // The agent rarely asks the guest, so an answer counts for the whole interval.
      const before = itsInterval === interval ? points.pop() : undefined
      points.push({ ...sample, guestUsedBytes: sample.guestUsedBytes ?? before?.guestUsedBytes ?? null })
      interval = itsInterval
    }
    return points
  }

  #at(index: number): Sample {
    const start = ((this.#first + index) % this.#capacity) * COLUMNS
    const value = (column: number) => this.#rows[start + column] ?? Number.NaN
    const orNull = (column: number) => (Number.isNaN(value(column)) ? null : value(column))
    return {
      atMs: value(0),
      cpuSeconds: value(1),
      hostPrivateBytes: value(2),
      diskBytes: value(3),
      guestUsedBytes: orNull(4),
      networkInBytes: orNull(5),
      networkOutBytes: orNull(6),
    }
  }

  /** Only before the ring wraps for the first time: row 0 is then the oldest. */
  #grow(): void {
    const rows = new Float64Array(Math.min(this.#capacity * 2, this.#maxRows) * COLUMNS)
    rows.set(this.#rows)
    this.#rows = rows
  }
}
