import type { BakeSlot } from '../vm/bakes.ts'
import type { Host } from './host.ts'
import { tapOf } from './slot-network.ts'
import { uidOfSlot } from './slots.ts'

/**
 * The slot that templates are baked in, one after the other: like a sandbox's, a template's own commands are not trusted.
 * Taken when the first is.
 */
export class BakingSlot {
  readonly #host: Host
  #slot: number | null = null

  constructor(host: Host) {
    this.#host = host
  }

  /** @throws Error when there is no free slot */
  async open(): ReturnType<BakeSlot> {
    const { slots, network } = this.#host
    this.#slot ??= slots.take()
    if (this.#slot === null) throw new Error('this agent has no free slot')
    await network?.open(this.#slot, 'none')
    return { confinement: { uid: uidOfSlot(this.#slot) }, tap: tapOf(this.#host, this.#slot) }
  }

  release(): void {
    if (this.#slot !== null) this.#host.slots.release(this.#slot)
    this.#slot = null
  }
}
