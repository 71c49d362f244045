import { confinementOf } from '../model/confinement-of.ts'
import type { BakePlace } from '../../machine/bakes/bakes.ts'
import { cgroupLimits } from './apply-limits.ts'
import type { Host } from '../model/host.ts'
import { tapOf } from './slot-network.ts'

/**
 * The slot in which the agent bakes templates, one after the other. A template's own commands are no more trusted than a
 * sandbox's. The first bake takes the slot.
 */
export class BakingSlot {
  readonly #host: Host
  /** MiB of the largest guest. */
  readonly #memoryMib: number
  #slot: number | null = null

  constructor(host: Host, memoryMib: number) {
    this.#host = host
    this.#memoryMib = memoryMib
  }

  /** @throws Error when there is no free slot */
  async open(): Promise<BakePlace> {
    const { slots, network, cgroups, qemus } = this.#host.platform
    const isNew = this.#slot === null
    this.#slot ??= slots.take()
    const slot = this.#slot
    if (slot === null) throw new Error('this agent has no free slot')
    // A new control group ends the processes that are left in a free slot. A second bake must not end the first one's.
    if (isNew) await cgroups?.create(slot, cgroupLimits({ cpu: 1, memory_mb: this.#memoryMib, limits: null }))
    await network?.open(slot, 'none')
    const limit = async (pid: number) => (qemus.current.jail === null ? cgroups?.attach(slot, pid) : undefined)
    const confinement = { ...confinementOf(this.#host.platform, slot), diesWithAgent: true }
    return { confinement, tap: tapOf(this.#host.platform, slot), limit }
  }

  /** Call this after the last VM has ended. */
  async release(): Promise<void> {
    const slot = this.#slot
    this.#slot = null
    if (slot === null) return
    await this.#host.platform.cgroups?.remove(slot)
    this.#host.platform.slots.release(slot)
  }
}
