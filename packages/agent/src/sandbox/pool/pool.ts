/**
 * Guests that are restored before they are asked for.
 *
 *     (nothing) ──make──► waiting ──take──► a sandbox's
 *                            └──give up──► (nothing)
 *
 * Invariants: a spare is in exactly one list or in nobody's hands but its taker's, and is taken once; all together they
 * have at most so much memory; one is made only while no sandbox is being restored. Templates that were asked for lately
 * have spares, the more the more often; the others have none.
 */
import type { Logger } from 'pino'
import type { Seed } from './seed.ts'
import { Demand } from './demand.ts'
import type { Spare } from './spare.ts'

/** Milliseconds between looks whether a spare is to be made or given up. */
const LOOK_MS = 200
/** Milliseconds after a failure until the next try. */
const RETRY_MS = 10_000
/** MiB that one more is expected to take, as long as none is there to tell. */
const EXPECTED_MIB = 64

export interface PoolOptions {
  /** All spares together; 0: there are none. */
  readonly memoryMib: number
  /** `null` when the host has no memory for it. */
  readonly make: (seed: Seed, cancelled: AbortSignal) => Promise<Spare | null>
  readonly remove: (spare: Spare) => Promise<void>
  /** Whether there is work that a spare must not delay. */
  readonly isBusy: () => boolean
  /** Whether the host is short of memory. */
  readonly isShort: () => Promise<boolean>
  readonly log: Logger
}

export class Pool {
  readonly #options: PoolOptions
  readonly #demand = new Demand()
  readonly #waiting = new Map<string, Spare[]>()
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** The look under way. */
  #looking: Promise<void> | undefined
  /** Ends the one that is being made. */
  #making: AbortController | undefined
  /** Those that are being removed, whose memory is free soon. */
  readonly #leaving = new Set<Promise<void>>()
  #retryAtMs = 0
  /** Those whose removal failed; it is tried again. */
  #unremoved: Spare[] = []
  /** How many creates found one, and how many did not. */
  readonly taken = { hits: 0, misses: 0 }

  constructor(options: PoolOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#options.memoryMib > 0) this.#timer = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /** A spare guest like this, which is the caller's from now on; `null` when none is at hand, and for what is no template's. */
  take(seed: Seed): Spare | null {
    if (this.#options.memoryMib === 0 || seed.checkpoint !== null) return null
    this.#demand.note(seed)
    const spare = this.#waiting.get(seed.manifest.bake)?.shift() ?? null
    this.taken[spare === null ? 'misses' : 'hits']++
    return spare
  }

  /** Those that wait, the longest first. */
  get spares(): Spare[] {
    return [...this.#waiting.values()].flat()
  }

  /** Gives up one that waits, or is being made, for who needs its memory more. @returns whether memory has become free */
  async evictOne(): Promise<boolean> {
    const spare = this.spares.at(0)
    if (spare !== undefined) {
      await this.#discard(spare, 'given up for its memory')
      return true
    }
    const [leaving] = this.#leaving
    if (leaving === undefined && this.#making === undefined) return false
    this.#making?.abort(new Error('given up for its memory'))
    await (leaving ?? this.#looking)
    return true
  }

  /** Of a template that is no more: none is made for it, and those that wait end. */
  async forget(isMeant: (bake: string) => boolean): Promise<void> {
    this.#demand.forget(isMeant)
    const meant = this.spares.filter(({ seed }) => isMeant(seed.manifest.bake))
    await Promise.all(meant.map((spare) => this.#discard(spare, 'its template is no more')))
  }

  /** Ends all of them; none is made any more. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the agent ends'))
    clearInterval(this.#timer)
    await this.#looking
    await Promise.all(this.spares.map((spare) => this.#discard(spare, 'the agent ends')))
  }

  #look(): void {
    this.#looking ??= this.#tend()
      .catch((error: unknown) => {
        this.#retryAtMs = performance.now() + RETRY_MS
        if (!this.#closing.signal.aborted) this.#options.log.warn({ err: error }, 'no spare guest')
      })
      .finally(() => (this.#looking = undefined))
  }

  async #tend(): Promise<void> {
    await this.#dismiss()
    if (this.#options.isBusy() || performance.now() < this.#retryAtMs) return
    await this.#removeAll(this.#unremoved.splice(0))
    const seed = this.#demand.neediest((bake) => this.#waiting.get(bake)?.length ?? 0)
    if (seed === null || !this.#hasRoom()) return
    const making = new AbortController()
    this.#making = making
    try {
      const spare = await this.#options.make(seed, AbortSignal.any([this.#closing.signal, making.signal]))
      if (spare === null) this.#retryAtMs = performance.now() + RETRY_MS
      else this.#add(spare)
    } catch (error) {
      if (!making.signal.aborted) throw error
      this.#retryAtMs = performance.now() + RETRY_MS
    } finally {
      this.#making = undefined
    }
  }

  #add(spare: Spare): void {
    const { bake } = spare.seed.manifest
    this.#waiting.set(bake, [...(this.#waiting.get(bake) ?? []), spare])
    void spare.vm.ended.then(async () => this.#discard(spare, 'its VM has ended'))
  }

  #hasRoom(): boolean {
    const { spares } = this
    const usedMib = spares.reduce((sum, { memoryMib }) => sum + memoryMib, 0)
    const nextMib = spares.length === 0 ? EXPECTED_MIB : usedMib / spares.length
    return usedMib + nextMib <= this.#options.memoryMib
  }

  /** Those that nobody is expected to want, and all while the host is short of memory. */
  async #dismiss(): Promise<void> {
    for (const bake of this.#demand.forgetOld()) {
      for (const spare of this.spares.filter(({ seed }) => seed.manifest.bake === bake))
        await this.#discard(spare, 'not asked for any more')
      this.#waiting.delete(bake)
    }
    while (this.spares.length > 0 && (await this.#options.isShort())) await this.evictOne()
  }

  async #discard(spare: Spare, why: string): Promise<void> {
    const spares = this.#waiting.get(spare.seed.manifest.bake) ?? []
    const at = spares.indexOf(spare)
    if (at < 0) return
    spares.splice(at, 1)
    this.#options.log.info({ template: spare.seed.manifest.template, why }, 'spare guest ended')
    const leaving = this.#removeAll([spare])
    this.#leaving.add(leaving)
    await leaving.finally(() => this.#leaving.delete(leaving))
  }

  async #removeAll(spares: readonly Spare[]): Promise<void> {
    for (const spare of spares) {
      await this.#options.remove(spare).catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'spare guest not removed')
        this.#unremoved.push(spare)
        this.#retryAtMs = performance.now() + RETRY_MS
      })
    }
  }
}
