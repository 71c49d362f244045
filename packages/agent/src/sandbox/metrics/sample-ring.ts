/** Columns of a sample. `NaN` stands for a value that is not known. */
const COLUMNS = 7
/** Rows at first; most sandboxes do not live for an hour. */
const FIRST_ROWS = 36

/** What was measured of one sandbox at one moment. */
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
 * The latest samples of one sandbox, at most `maxRows`. They lie in one typed array, which grows as samples come, because
 * an agent keeps rings of thousands of sandboxes: 20 KB for an hour at one sample in 10 s.
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

  /** Milliseconds of Unix time of the latest sample; `null`: there is none. */
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
   * The last sample of each interval of `stepMs`, oldest first. Intervals begin at whole multiples of the step since 1970, so
   * that a caller who asks again gets the same ones.
   * @param sinceMs samples before it are left out
   */
  points(sinceMs: number, stepMs: number): Sample[] {
    const points: Sample[] = []
    let interval = Number.NaN
    for (let index = 0; index < this.#count; index++) {
      const sample = this.#at(index)
      if (sample.atMs < sinceMs) continue
      const itsInterval = Math.floor(sample.atMs / stepMs)
      // The guest is asked seldom: its word counts for the whole interval.
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

  /** Only before the ring turns for the first time, so that the oldest row is the first. */
  #grow(): void {
    const rows = new Float64Array(Math.min(this.#capacity * 2, this.#maxRows) * COLUMNS)
    rows.set(this.#rows)
    this.#rows = rows
  }
}
