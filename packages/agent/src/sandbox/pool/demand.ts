import type { Seed } from './seed.ts'

/** Milliseconds for which a start counts. The template has at least one spare meanwhile, if it was a create. */
const REMEMBERED_MS = 600_000
/** Milliseconds of the window whose number of creates is the wanted number of spares. */
const RECENT_MS = 10_000
/** Maximum spares per template. */
const MAX_SPARES = 8

interface Asked {
  readonly seed: Seed
  /** Times of the latest creates, newest last; at most {@link MAX_SPARES}. */
  readonly timesMs: number[]
  /** The same of the starts from a checkpoint. */
  readonly restoresMs: number[]
}

/** How often sandboxes of each template were started lately. Keyed by bake: `NAME/FINGERPRINT`. */
export class Demand {
  readonly #asked = new Map<string, Asked>()

  note(seed: Seed, nowMs = performance.now()): void {
    noteTime(this.#of(seed).timesMs, nowMs)
  }

  /** Notes a start from a checkpoint. @param seed of the template */
  noteRestore(seed: Seed, nowMs = performance.now()): void {
    noteTime(this.#of(seed).restoresMs, nowMs)
  }

  /** Whether sandboxes of the template were created lately, and not only started from checkpoints. */
  hasCreates(bake: string): boolean {
    return (this.#asked.get(bake)?.timesMs.length ?? 0) > 0
  }

  /** The seed of the template that lacks the most spares; `null` if none lacks any. */
  neediest(countOf: (bake: string) => number, nowMs = performance.now()): Seed | null {
    let most = 0
    let neediest: Seed | null = null
    for (const [bake, { seed, timesMs }] of this.#asked) {
      if (timesMs.length === 0) continue
      const recent = timesMs.filter((timeMs) => nowMs - timeMs < RECENT_MS).length
      const lacking = Math.max(1, recent) - countOf(bake)
      if (lacking <= most) continue
      most = lacking
      neediest = seed
    }
    return neediest
  }

  /** The seeds of the templates of which this many sandboxes were started lately, the most asked for first. */
  popular(starts: number): Seed[] {
    const asked = [...this.#asked.values()].filter((each) => startsOf(each) >= starts)
    return asked.toSorted((a, b) => startsOf(b) - startsOf(a)).map(({ seed }) => seed)
  }

  forget(isMeant: (bake: string) => boolean): void {
    for (const bake of this.#asked.keys()) if (isMeant(bake)) this.#asked.delete(bake)
  }

  /** Forgets templates of which nothing was started lately. @returns their bakes */
  forgetOld(nowMs = performance.now()): string[] {
    const old = [...this.#asked].filter(([, asked]) => nowMs - lastStartMs(asked) >= REMEMBERED_MS)
    for (const [bake] of old) this.#asked.delete(bake)
    return old.map(([bake]) => bake)
  }

  #of(seed: Seed): Asked {
    const asked = this.#asked.get(seed.manifest.bake) ?? { seed, timesMs: [], restoresMs: [] }
    this.#asked.set(seed.manifest.bake, asked)
    return asked
  }
}

function noteTime(timesMs: number[], nowMs: number): void {
  timesMs.push(nowMs)
  if (timesMs.length > MAX_SPARES) timesMs.shift()
}

function startsOf({ timesMs, restoresMs }: Asked): number {
  return timesMs.length + restoresMs.length
}

function lastStartMs({ timesMs, restoresMs }: Asked): number {
  return Math.max(timesMs.at(-1) ?? 0, restoresMs.at(-1) ?? 0)
}
