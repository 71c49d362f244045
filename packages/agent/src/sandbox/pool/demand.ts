import type { Seed } from './seed.ts'

/** Milliseconds after a create during which the template has at least one spare. */
const REMEMBERED_MS = 600_000
/** Milliseconds of the window whose number of creates is the wanted number of spares. */
const RECENT_MS = 10_000
/** Maximum spares per template. */
const MAX_SPARES = 8

interface Asked {
  readonly seed: Seed
  /** Times of the latest creates, newest last; at most {@link MAX_SPARES}. */
  readonly timesMs: number[]
}

/** How often each template was created lately. Keyed by bake: `NAME/FINGERPRINT`. */
export class Demand {
  readonly #asked = new Map<string, Asked>()

  note(seed: Seed, nowMs = performance.now()): void {
    const { bake } = seed.manifest
    const timesMs = this.#asked.get(bake)?.timesMs ?? []
    timesMs.push(nowMs)
    if (timesMs.length > MAX_SPARES) timesMs.shift()
    this.#asked.set(bake, { seed, timesMs })
  }

  /** The seed of the template that lacks the most spares; `null` if none lacks any. */
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

  /** The seeds of the templates of which this many sandboxes were created lately, the most asked for first. */
  popular(creates: number): Seed[] {
    const asked = [...this.#asked.values()].filter(({ timesMs }) => timesMs.length >= creates)
    return asked.toSorted((a, b) => b.timesMs.length - a.timesMs.length).map(({ seed }) => seed)
  }

  forget(isMeant: (bake: string) => boolean): void {
    for (const bake of this.#asked.keys()) if (isMeant(bake)) this.#asked.delete(bake)
  }

  /** Forgets templates without recent creates. @returns their bakes */
  forgetOld(nowMs = performance.now()): string[] {
    const old = [...this.#asked].filter(([, { timesMs }]) => nowMs - (timesMs.at(-1) ?? 0) >= REMEMBERED_MS)
    for (const [bake] of old) this.#asked.delete(bake)
    return old.map(([bake]) => bake)
  }
}
