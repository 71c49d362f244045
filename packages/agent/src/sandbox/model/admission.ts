import { ApiError } from '@offshoot/contract/errors'
import { readHostMemory } from '../../machine/host/host-memory.ts'
import { vmLimitMib } from '../../machine/vm/vm-memory.ts'
import { Semaphore } from '@offshoot/kit/semaphore'

/** What stays free for the host itself: a part of its memory, and so many MiB at least. */
const RESERVED_SHARE = 1 / 20
const RESERVED_MIN_MIB = 512
/** Part of what VMs may have that they are expected to take sooner or later, all together: most are idle. */
const GROWTH_SHARE = 1 / 16
/** MiB a restored VM costs at once, however small its template: QEMU itself and the first pages it writes. */
const BASE_MIB = 64
/** Part of its memory that a guest is expected to write soon. */
const EARLY_SHARE = 0.25
/** What VMs may have all together, as a multiple of the host's memory, unless configured: 200 idle ones of 512 MiB on 24 GiB. */
const DEFAULT_OVERCOMMIT = 8
/** MiB that must be free beyond all that before memory is spent on what nobody has asked for. */
const SPARE_MIB = 256
/** A look at the host's memory takes a tenth of a millisecond. */
const MAX_WAITING = 4096

export interface AdmissionOptions {
  /** What VMs may have all together, each counted with all that its control group allows it; `null`: 8 times the host's. */
  readonly commitLimitMib: number | null
  /** Sizes of the guests that have a VM now, MiB. */
  readonly guestsMib: () => readonly number[]
  /** Gives back memory that nobody has asked for; false when there is none. */
  readonly relieve: () => Promise<boolean>
}

interface Usage {
  readonly committedMib: number
  readonly commitLimitMib: number
  /** What could be given to a VM now; may be below 0. */
  readonly freeMib: number
}

/**
 * Refuses VMs that the host's memory would not hold. Two accounts: what all VMs may come to have, which may be more than
 * there is by a factor, and what is free now, less what is kept back for the growth of those that run.
 */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #semaphore = new Semaphore(1, MAX_WAITING)
  /** Sizes of the guests that have been let in and have no VM yet. */
  readonly #inFlightMib = new Map<symbol, number>()

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /**
   * Gives back what it took when the VM runs, or will not. What nobody has asked for gives way.
   * @throws ApiError 507
   */
  async admit(guestMib: number): Promise<() => void> {
    for (;;) {
      const release = await this.#take(guestMib, 0)
      if (release !== null) return release
      if (!(await this.#options.relieve())) throw new ApiError('insufficientMemory')
    }
  }

  /** The same for what nobody has asked for: `null` where the host is short of memory, or would be. */
  async admitSpare(guestMib: number): Promise<(() => void) | null> {
    return this.#take(guestMib, SPARE_MIB)
  }

  /** Whether memory is better given back than kept for what may be asked for. */
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

  /** One after the other: of several who ask at once as many are let in as there is room for. */
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
