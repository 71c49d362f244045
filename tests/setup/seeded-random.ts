/** A random generator with a seed, so that a failing run can be repeated (mulberry32, 32 bits of state). */
export class SeededRandom {
  readonly seed: number
  #state: number

  private constructor(seed: number) {
    this.seed = seed
    this.#state = seed
  }

  /** Seeded with that variable, else with the clock. */
  static fromEnvironment(variable = 'OFFSHOOT_SEED'): SeededRandom {
    return new SeededRandom(Number(process.env[variable] ?? Date.now() % 2 ** 31))
  }

  /** A generator whose seed this one chooses. It goes on by itself. */
  another(): SeededRandom {
    return new SeededRandom(Math.floor(this.fraction() * 2 ** 31))
  }

  /** From 0 (inclusive) to 1 (exclusive). */
  fraction(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('nothing to pick from')
    return list[Math.floor(this.fraction() * list.length)] as T
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((value) => ({ value, place: this.fraction() }))
      .toSorted((one, other) => one.place - other.place)
      .map(({ value }) => value)
  }
}
