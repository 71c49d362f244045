import type { Logger } from 'pino'
import type { Seed } from './seed.ts'
import type { PoolZygote } from './spare.ts'

/** Estimated MiB of a zygote. */
export const EXPECTED_ZYGOTE_MIB = 256
/** Milliseconds before a retry after a failure. */
const RETRY_MS = 60_000

export interface ZygotesOptions {
  readonly isWanted: (seed: Seed) => boolean
  /** `null` if the host lacks the memory. */
  readonly make: (seed: Seed, cancelled: AbortSignal) => Promise<PoolZygote | null>
  readonly remove: (zygote: PoolZygote) => Promise<void>
  readonly log: Logger
}

/** The zygotes of the warm pool, at most one for each template. The pool decides when there is room for one. */
export class Zygotes {
  readonly #options: ZygotesOptions
  readonly #ready = new Map<string, PoolZygote>()
  /** By bake: the earliest time of the next attempt. */
  readonly #retryAtMs = new Map<string, number>()
  readonly #leaving = new Set<Promise<void>>()

  constructor(options: ZygotesOptions) {
    this.#options = options
  }

  /** The zygote of a template's bake (`NAME/FINGERPRINT`); `null` if there is none. */
  of(bake: string): PoolZygote | null {
    return this.#ready.get(bake) ?? null
  }

  get all(): PoolZygote[] {
    return [...this.#ready.values()]
  }

  get memoryMib(): number {
    return this.all.reduce((sum, { memoryMib }) => sum + memoryMib, 0)
  }

  /** The first of these seeds that lacks a zygote and may have one. */
  lacking(seeds: readonly Seed[], nowMs = performance.now()): Seed | null {
    const mayTry = ({ manifest }: Seed) => nowMs >= (this.#retryAtMs.get(manifest.bake) ?? 0)
    return (
      seeds.find((seed) => this.of(seed.manifest.bake) === null && this.#options.isWanted(seed) && mayTry(seed)) ?? null
    )
  }

  async make(seed: Seed, cancelled: AbortSignal): Promise<void> {
    const { bake } = seed.manifest
    try {
      const made = await this.#options.make(seed, cancelled)
      if (made === null) return this.#waitBeforeRetry(bake)
      this.#ready.set(bake, made)
      this.#options.log.info(
        { template: seed.manifest.template, memory_mib: Math.round(made.memoryMib) },
        'zygote made',
      )
      void made.zygote.vm.ended.then(async () => this.discard(made, 'its VM has ended'))
    } catch (error) {
      this.#waitBeforeRetry(bake)
      if (!cancelled.aborted) this.#options.log.warn({ err: error, template: seed.manifest.template }, 'no zygote')
    }
  }

  /** Its children stay. */
  async discard(zygote: PoolZygote, why: string): Promise<void> {
    const { bake, template } = zygote.seed.manifest
    if (this.#ready.get(bake) !== zygote) return
    this.#ready.delete(bake)
    this.#waitBeforeRetry(bake)
    this.#options.log.info({ template, why }, 'zygote ended')
    const leaving = this.#options
      .remove(zygote)
      .catch((error: unknown) => this.#options.log.error({ err: error, template }, 'zygote not removed'))
    this.#leaving.add(leaving)
    await leaving.finally(() => this.#leaving.delete(leaving))
  }

  async close(): Promise<void> {
    await Promise.all([...this.all.map((zygote) => this.discard(zygote, 'the agent ends')), ...this.#leaving])
  }

  #waitBeforeRetry(bake: string): void {
    this.#retryAtMs.set(bake, performance.now() + RETRY_MS)
  }
}
