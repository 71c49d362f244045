import { ApiError } from '@offshoot/contract/errors'
import { readHostMemory } from '../../machine/host/host-memory.ts'
import { vmLimitMib } from '../../machine/vm/vm-memory.ts'
import { Semaphore } from '@offshoot/kit/semaphore'

/** Memory reserved for the host: a share of its memory, and a minimum in MiB. */
const RESERVED_SHARE = 1 / 20
const RESERVED_MIN_MIB = 512
/** Share of the committed memory that all VMs together are expected to need later. It is small, because most are idle. */
const GROWTH_SHARE = 1 / 16
/** MiB that every restored VM needs at once: QEMU itself, and its first dirty pages. */
const BASE_MIB = 64
/** Share of its memory that a guest is expected to dirty soon. */
const EARLY_SHARE = 0.25
/** Default limit of the committed memory, as a multiple of the host's: 200 idle VMs of 512 MiB on 24 GiB. */
const DEFAULT_OVERCOMMIT = 8
/** MiB that must be free in addition before the agent makes a spare for the warm pool. */
const SPARE_MIB = 256
/** Maximum waiting requests. Each reads the host's memory, which takes a tenth of a millisecond. */
const MAX_WAITING = 4096

export interface AdmissionOptions {
  /** Limit of the committed memory: the sum of the VMs' control group limits; `null`: 8 times the host's memory. */
  readonly commitLimitMib: number | null
  /** Sizes of the guests that have a VM now, MiB. */
  readonly guestsMib: () => readonly number[]
  /** Evicts a spare to free memory; `false` if there is none. */
  readonly relieve: () => Promise<boolean>
}

interface Usage {
  readonly committedMib: number
  readonly commitLimitMib: number
  /** Memory available for another VM now; may be negative. */
  readonly freeMib: number
}

/**
 * Refuses VMs for which the host lacks memory. It limits two figures:
 *  - committed memory, the maximum that all VMs can use: may exceed the host's memory by a factor (overcommit);
 *  - free memory now, minus a reserve for the growth of running VMs.
 */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #semaphore = new Semaphore(1, MAX_WAITING)
  /** Sizes of the guests that are admitted but have no VM yet. */
  readonly #inFlightMib = new Map<symbol, number>()

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /**
   * Reserves memory for a guest. Evicts spares if necessary.
   * @returns a function that ends the reservation, to call when the VM runs or has failed
   * @throws ApiError 507
   */
  async admit(guestMib: number): Promise<() => void> {
    for (;;) {
      const release = await this.#take(guestMib, 0)
      if (release !== null) return release
      if (!(await this.#options.relieve())) throw new ApiError('insufficientMemory')
    }
  }

  /** Reserves memory for a spare; `null` if the host is short of memory, or would be. */
  async admitSpare(guestMib: number): Promise<(() => void) | null> {
    return this.#take(guestMib, SPARE_MIB)
  }

  /** Whether the host is short of memory, so that spares should be evicted. */
  async isShort(): Promise<boolean> {
    const { committedMib, commitLimitMib, freeMib } = await this.usage()
    return committedMib > commitLimitMib || freeMib < SPARE_MIB
  }

  async usage(): Promise<Usage> {
    const { totalMib, availableMib } = await readHostMemory()
    const inFlightMib = [...this.#inFlightMib.values()]
    const committedMib = sum([...this.#options.guestsMib(), ...inFlightMib].map(vmLimitMib))
    const keptBackMib = Math.max(RESERVED_MIN_MIB, totalMib * RESERVED_SHARE) + committedMib * GROWTH_SHARE
    const soonMib = sum(inFlightMib.map((mib) => BASE_MIB + mib * EARLY_SHARE))
    return {
      committedMib,
      commitLimitMib: this.#options.commitLimitMib ?? totalMib * DEFAULT_OVERCOMMIT,
      freeMib: Math.floor(availableMib - keptBackMib - soonMib),
    }
  }

  /** Serialized, so that concurrent requests do not get the same free memory. */
  async #take(guestMib: number, moreMib: number): Promise<(() => void) | null> {
    return this.#semaphore.run(async () => {
      const key = Symbol('guest')
      this.#inFlightMib.set(key, guestMib)
      const release = () => void this.#inFlightMib.delete(key)
      try {
        const { committedMib, commitLimitMib, freeMib } = await this.usage()
        if (committedMib <= commitLimitMib && freeMib >= moreMib) return release
      } catch (error) {
        release()
        throw error
      }
      release()
      return null
    })
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
