/**
 * The warm pool: guests that the agent restores before a create needs them.
 *
 *     (none) ──make──► waiting ──take──► belongs to a sandbox
 *                         └──evict──► (none)
 *
 * Invariants:
 *  - Each spare is in one list, or belongs to the caller that took it. It is taken once.
 *  - The memory of all spares and zygotes stays below a limit.
 *  - The agent makes a spare only while it restores no sandbox.
 *  - Only templates with recent creates have spares; the more creates, the more spares.
 *  - A template with several recent creates, forks and wakes gets a zygote, if there is room for one. Its spares are copied from
 *    that, and copies continue its checkpoints.
 */
import type { Logger } from 'pino'
import type { Seed } from './seed.ts'
import { Demand } from './demand.ts'
import type { Spare } from './spare.ts'
import { EXPECTED_ZYGOTE_MIB, type Zygotes } from './zygotes.ts'

/** Milliseconds between two checks whether to make or evict a spare. */
const LOOK_MS = 200
/** Milliseconds before a retry after a failure. */
const RETRY_MS = 10_000
/** Estimated MiB of the first spare. Later estimates use the average of the existing ones. */
const EXPECTED_MIB = 64
/** Recent creates and restores of a template before it gets a zygote. */
const STARTS_FOR_ZYGOTE = 3
const REPLACED = 'replaced by a copy of a zygote'

export interface PoolOptions {
  /** Memory limit of all spares and zygotes together; 0 disables the pool. */
  readonly memoryMib: number
  readonly zygotes: Zygotes
  /** `null` if the host lacks the memory. */
  readonly make: (seed: Seed, cancelled: AbortSignal) => Promise<Spare | null>
  readonly remove: (spare: Spare) => Promise<void>
  /** Whether more important work is running. */
  readonly isBusy: () => boolean
  /** Whether the host is short of memory. */
  readonly isShort: () => Promise<boolean>
  readonly log: Logger
}

export class Pool {
  readonly #options: PoolOptions
  readonly #demand = new Demand()
  readonly #waiting = new Map<string, Spare[]>()
  /** Seeds of templates, by bake: those of the host, and those that were created. */
  readonly #templates = new Map<string, Seed>()
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** The check that is running. */
  #looking: Promise<void> | undefined
  /** Cancels the spare that is being made. */
  #making: AbortController | undefined
  /** Removals in progress, which will free memory. */
  readonly #leaving = new Set<Promise<void>>()
  #retryAtMs = 0
  /** Spares whose removal failed and will be retried. */
  #unremoved: Spare[] = []
  /** Creates that found a spare, and creates that did not. */
  readonly taken = { hits: 0, misses: 0 }

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** @param templates seeds of the host's templates */
  start(templates: readonly Seed[]): void {
    for (const seed of templates) this.#templates.set(seed.manifest.bake, seed)
    if (this.#options.memoryMib > 0) this.#timer = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /** Takes a spare for this seed, which then belongs to the caller; `null` if none waits, and for a seed that is not a template's. */
  take(seed: Seed): Spare | null {
    if (this.#options.memoryMib === 0 || seed.checkpoint !== null) return null
    this.#templates.set(seed.manifest.bake, seed)
    this.#demand.note(seed)
    const spare = this.#best(seed.manifest.bake)
    this.taken[spare === null ? 'misses' : 'hits']++
    return spare
  }

  /** A VM is being started from a checkpoint of this bake, which a copy of a zygote could continue. */
  noteRestore(bake: string): void {
    const seed = this.#templates.get(bake)
    if (seed !== undefined) this.#demand.noteRestore(seed)
  }

  /** Takes the oldest spare of a template, copies of a zygote first. */
  #best(bake: string): Spare | null {
    const waiting = this.#waiting.get(bake) ?? []
    const at = Math.max(
      0,
      waiting.findIndex(({ isCopy }) => isCopy),
    )
    return waiting.splice(at, 1)[0] ?? null
  }

  /** The waiting spares, oldest first within a template. */
  get spares(): Spare[] {
    return [...this.#waiting.values()].flat()
  }

  /**
   * Evicts one waiting spare, or else a zygote, or cancels what is being made, to free memory for a sandbox.
   * @returns whether memory was freed
   */
  async evictOne(): Promise<boolean> {
    const spare = this.spares.at(0)
    if (spare !== undefined) {
      await this.#discard(spare, 'discarded for its memory')
      return true
    }
    const [zygote] = this.#options.zygotes.all
    if (zygote !== undefined) {
      await this.#options.zygotes.discard(zygote, 'discarded for its memory')
      return true
    }
    const [leaving] = this.#leaving
    if (leaving === undefined && this.#making === undefined) return false
    this.#making?.abort(new Error('discarded for its memory'))
    await (leaving ?? this.#looking)
    return true
  }

  /** Evicts the spares of deleted templates, and makes no more of them. */
  async forget(isMeant: (bake: string) => boolean): Promise<void> {
    this.#demand.forget(isMeant)
    for (const bake of this.#templates.keys()) if (isMeant(bake)) this.#templates.delete(bake)
    const meant = this.spares.filter(({ seed }) => isMeant(seed.manifest.bake))
    await Promise.all(meant.map((spare) => this.#discard(spare, 'its template is no more')))
    await this.#discardZygotes(isMeant, 'its template is no more')
  }

  /** Evicts all spares and makes no more. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the agent ends'))
    clearInterval(this.#timer)
    await this.#looking
    await Promise.all(this.spares.map((spare) => this.#discard(spare, 'the agent ends')))
    await this.#options.zygotes.close()
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
    await this.#evictUnneeded()
    if (this.#options.isBusy() || performance.now() < this.#retryAtMs) return
    await this.#removeAll(this.#unremoved.splice(0))
    const popular = this.#options.zygotes.lacking(this.#demand.popular(STARTS_FOR_ZYGOTE))
    if (popular !== null && (await this.#makeRoomForZygote(popular)))
      return this.#cancellable(async (cancelled) => this.#options.zygotes.make(popular, cancelled))
    const seed = this.#demand.neediest((bake) => this.#countOf(bake))
    if (seed !== null && this.#hasRoom()) return this.#cancellable(async (cancelled) => this.#make(seed, cancelled))
    const stale = seed === null ? this.spares.find(this.#isStale) : undefined
    if (stale !== undefined) await this.#discard(stale, REPLACED)
  }

  /**
   * Evicts spares of the template if there is room for its zygote then: copies of it need less memory. One spare stays for
   * creates until there is a copy, and is made first. A template without creates needs none.
   * @returns whether the zygote has room
   */
  async #makeRoomForZygote({ manifest: { bake } }: Seed): Promise<boolean> {
    const [first, ...others] = this.#waiting.get(bake) ?? []
    const othersMib = others.reduce((sum, { memoryMib }) => sum + memoryMib, 0)
    const isEnough = (usedMib: number) => usedMib + EXPECTED_ZYGOTE_MIB <= this.#options.memoryMib
    if ((first === undefined && this.#demand.hasCreates(bake)) || !isEnough(this.#usedMib - othersMib)) return false
    for (const spare of others) if (!isEnough(this.#usedMib)) await this.#discard(spare, 'discarded for a zygote')
    return true
  }

  /** A restored spare of a template that has a zygote: a copy is to replace it. */
  readonly #isStale = ({ seed, isCopy }: Spare): boolean =>
    !isCopy && this.#options.zygotes.of(seed.manifest.bake) !== null

  #countOf(bake: string): number {
    return (this.#waiting.get(bake) ?? []).filter((spare) => !this.#isStale(spare)).length
  }

  async #cancellable(make: (cancelled: AbortSignal) => Promise<void>): Promise<void> {
    const making = new AbortController()
    this.#making = making
    try {
      await make(AbortSignal.any([this.#closing.signal, making.signal]))
    } catch (error) {
      if (!making.signal.aborted) throw error
      this.#retryAtMs = performance.now() + RETRY_MS
    } finally {
      this.#making = undefined
    }
  }

  async #make(seed: Seed, cancelled: AbortSignal): Promise<void> {
    const spare = await this.#options.make(seed, cancelled)
    if (spare === null) {
      this.#retryAtMs = performance.now() + RETRY_MS
      return
    }
    this.#add(spare)
    const replaced = spare.isCopy ? this.#waiting.get(seed.manifest.bake)?.find(this.#isStale) : undefined
    if (replaced !== undefined) await this.#discard(replaced, REPLACED)
  }

  #add(spare: Spare): void {
    const { bake } = spare.seed.manifest
    this.#waiting.set(bake, [...(this.#waiting.get(bake) ?? []), spare])
    void spare.vm.ended.then(async () => this.#discard(spare, 'its VM has ended'))
  }

  get #usedMib(): number {
    return this.spares.reduce((sum, { memoryMib }) => sum + memoryMib, this.#options.zygotes.memoryMib)
  }

  #hasRoom(): boolean {
    const { spares } = this
    const sparesMib = spares.reduce((sum, { memoryMib }) => sum + memoryMib, 0)
    const nextMib = spares.length === 0 ? EXPECTED_MIB : sparesMib / spares.length
    return this.#usedMib + nextMib <= this.#options.memoryMib
  }

  /** Evicts spares of templates without recent creates, and all spares while the host is short of memory. */
  async #evictUnneeded(): Promise<void> {
    for (const bake of this.#demand.forgetOld()) {
      for (const spare of this.spares.filter(({ seed }) => seed.manifest.bake === bake))
        await this.#discard(spare, 'not asked for any more')
      this.#waiting.delete(bake)
      await this.#discardZygotes((each) => each === bake, 'not asked for any more')
    }
    const hasAny = () => this.spares.length > 0 || this.#options.zygotes.all.length > 0
    while (hasAny() && (await this.#options.isShort())) await this.evictOne()
  }

  async #discardZygotes(isMeant: (bake: string) => boolean, why: string): Promise<void> {
    const { zygotes } = this.#options
    for (const zygote of zygotes.all.filter(({ seed }) => isMeant(seed.manifest.bake)))
      await zygotes.discard(zygote, why)
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
