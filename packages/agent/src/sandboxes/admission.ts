import { ApiError } from '@offshoot/contract/errors'
import { readHostMemory } from '../host/memory.ts'

/** MiB that stay free for the host and for what its VMs still grow into. */
const RESERVE_MIB = 512
/** MiB a restored VM costs at once, however small its template: QEMU itself and the first pages it writes. */
const BASE_MIB = 64
/** Part of its memory that a guest is expected to write soon. */
const EARLY_SHARE = 0.25

/** Refuses VMs that the host's memory would not hold, counting those that have been let in but have not grown yet. */
export class Admission {
  #inFlightMib = 0

  /**
   * Gives back what it took when the VM runs, or will not.
   * @throws ApiError 507
   */
  async admit(guestMib: number): Promise<() => void> {
    const neededMib = BASE_MIB + Math.ceil(guestMib * EARLY_SHARE)
    this.#inFlightMib += neededMib
    const release = () => {
      this.#inFlightMib -= neededMib
    }
    try {
      const { availableMib } = await readHostMemory()
      if (availableMib - RESERVE_MIB < this.#inFlightMib) throw new ApiError('insufficientMemory')
      return release
    } catch (error) {
      release()
      throw error
    }
  }
}
