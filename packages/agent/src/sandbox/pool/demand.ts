import type { Seed } from './seed.ts'

/** Milliseconds for which a template that was asked for has at least one spare. */
const REMEMBERED_MS = 600_000
/** Milliseconds whose creates tell how many spares it has. */
const RECENT_MS = 10_000
/** Spares of one template at most. */
const MAX_SPARES = 8

interface Asked {
  readonly seed: Seed
  /** When, the latest last; no more than matter. */
  readonly timesMs: number[]
}

/** Which templates are asked for, how often, by bake: `NAME/FINGERPRINT`. */
export class Demand {
  readonly #asked = new Map<string, Asked>()

  note(seed: Seed, nowMs = performance.now()): void {
    const { bake } = seed.manifest
    const timesMs = this.#asked.get(bake)?.timesMs ?? []
    timesMs.push(nowMs)
    if (timesMs.length > MAX_SPARES) timesMs.shift()
    this.#asked.set(bake, { seed, timesMs })
  }

  /** What lacks the most of the spares it should have; `null` when nothing lacks any. */
  neediest(countOf: (bake: string) => number, nowMs = performance.now()): Seed | null {
    let most = 0
    let neediest: Seed | null = null
    for (const [bake, { seed, timesMs }] of this.#asked) {
      const recent = timesMs.filter((timeMs) => nowMs - timeMs < RECENT_MS).length
      const lacking = Math.max(1, recent) - countOf(bake)
      if (lacking <= most) continue
      most = lacking
      neediest = seed
    }
    return neediest
  }

  forget(isMeant: (bake: string) => boolean): void {
    for (const bake of this.#asked.keys()) if (isMeant(bake)) this.#asked.delete(bake)
  }

  /** Forgets what was not asked for in a long time, and says what that is. */
  forgetOld(nowMs = performance.now()): string[] {
    const old = [...this.#asked].filter(([, { timesMs }]) => nowMs - (timesMs.at(-1) ?? 0) >= REMEMBERED_MS)
    for (const [bake] of old) this.#asked.delete(bake)
    return old.map(([bake]) => bake)
  }
}
