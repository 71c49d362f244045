import { setTimeout as wait } from 'node:timers/promises'
import type { SandboxId } from '@offshoot/contract/ids'
import type { Logger } from 'pino'
import { BLOCK_SLOTS, type SlotClaims } from '../host/slot-claims.ts'
import type { GuestNetwork } from '../network/guest-network.ts'

/** Maximum concurrent VMs of one agent. */
export const MAX_SLOTS = 4096
/** The VM of slot n runs as user BASE_UID + n. The host must not use these user ids for anything else. */
export const BASE_UID = 200_000
/** The slot of a sandbox without a VM, and of one that lost its slot while no agent ran. It gets one when it starts. */
export const NO_SLOT = -1
/**
 * Maximum parked slots. The agent keeps the slot of a hibernated sandbox, with TAP and connections, so that a guest that wakes
 * soon finds its connections open. It evicts the longest hibernated sandbox first.
 */
export const MAX_PARKED = 128
/** TAPs to prepare for the next guests, and maximum TAPs of free slots to keep. */
const READY_TAPS = 16
const MAX_IDLE_TAPS = 48
/** With fewer free slots the agent claims another block. */
const FEW_FREE = 128
/** With fewer free slots the agent evicts this many parked ones. */
const FEW_PARKED = 16
/** Milliseconds after a VM's start before the agent prepares TAPs for the next VMs. */
const SUPPLY_MS = 100

export interface SlotsOptions {
  /** `null` if the agent is not root: then slots use no resources of the host. */
  readonly claims: SlotClaims | null
  readonly network: GuestNetwork | null
  readonly log: Logger
}

/**
 * Allocates slots. A slot is a number that determines a VM's user, TAP and address on the host.
 *
 *     free ──take──► taken ──release──► (cleaned) ──► free
 *                     │ ▲                   ▲
 *                park ▼ │ reclaim           │
 *                    parked ──evict─────────┘
 */
export class Slots {
  readonly #options: SlotsOptions
  readonly #taken = new Set<number>()
  /** The sandbox of each parked slot, oldest first. Parked slots are also in `#taken`. */
  readonly #parked = new Map<number, SandboxId>()
  /** Released slots that are not clean yet. They are also in `#taken`. */
  #released: number[] = []
  #cleaning = false
  #isClaiming = false
  #isSupplying = false

  constructor(options: SlotsOptions) {
    this.#options = options
  }

  /** `null` if no slot is free. */
  take(): number | null {
    let free = this.#free()
    if (free.length < FEW_PARKED && this.#parked.size > 0) {
      // Ahead of need, because a slot must be cleaned before another guest can have it.
      this.#evict(Math.max(0, this.#parked.size - FEW_PARKED))
      free = this.#free()
    }
    const { network } = this.#options
    const chosen = (network && free.find((slot) => network.hasTap(slot))) ?? free[0]
    if (chosen === undefined) return null
    this.#taken.add(chosen)
    this.supplySoon()
    return chosen
  }

  /** Takes the slot of an existing sandbox. `false` if it is taken, or not this agent's. */
  reserve(slot: number): boolean {
    const isOurs = this.#options.claims?.has(slot) ?? (slot >= 0 && slot < MAX_SLOTS)
    if (!isOurs || this.#taken.has(slot)) return false
    this.#taken.add(slot)
    return true
  }

  /** Keeps the slot of a sandbox that hibernates. Its VM has ended. */
  park(slot: number, id: SandboxId): void {
    if (!this.#taken.has(slot)) return
    this.#parked.set(slot, id)
    this.#evict(MAX_PARKED)
  }

  /** Takes the slot that a sandbox had before it hibernated. `false` if another sandbox has it by now. */
  reclaim(slot: number, id: SandboxId): boolean {
    if (this.#parked.get(slot) !== id) return this.reserve(slot)
    return this.#parked.delete(slot)
  }

  /** Releases the parked slot of a sandbox that will never wake. */
  releaseParked(slot: number, id: SandboxId): void {
    if (this.#parked.get(slot) !== id) return
    this.#parked.delete(slot)
    this.release(slot)
  }

  isTaken(slot: number): boolean {
    return this.#taken.has(slot)
  }

  /** Releases a slot. It becomes free when nothing of its guest is left on the host. */
  release(slot: number): void {
    if (!this.#taken.has(slot)) return
    if (this.#options.network?.isClean(slot) ?? true) return void this.#taken.delete(slot)
    this.#released.push(slot)
    void this.#clean()
  }

  #evict(keep: number): void {
    for (const slot of this.#parked.keys()) {
      if (this.#parked.size <= keep) return
      this.#parked.delete(slot)
      this.release(slot)
    }
  }

  /** Claims slots and prepares TAPs for the next VMs, in the background. */
  supplySoon(): void {
    const { log } = this.#options
    if (!this.#isClaiming) {
      this.#isClaiming = true
      this.#claim()
        .catch((error: unknown) => log.error({ err: error }, 'block of slots not claimed'))
        .finally(() => (this.#isClaiming = false))
    }
    if (this.#isSupplying) return
    this.#isSupplying = true
    wait(SUPPLY_MS, undefined, { ref: false })
      .then(() => this.#makeTaps())
      .catch((error: unknown) => log.error({ err: error }, 'TAPs not prepared'))
      .finally(() => (this.#isSupplying = false))
  }

  async #claim(): Promise<void> {
    const { claims, network } = this.#options
    if (claims === null || this.#free().length >= FEW_FREE || claims.blocks.length * BLOCK_SLOTS >= MAX_SLOTS) return
    await claims.claim((block) => network?.addBlock(block))
  }

  async #makeTaps(): Promise<void> {
    const { network } = this.#options
    if (network === null) return
    const next = this.#free().slice(0, READY_TAPS)
    const ready = this.#free().filter((slot) => network.hasTap(slot)).length
    if (ready < READY_TAPS / 2) await network.prepare(next)
  }

  async #clean(): Promise<void> {
    const { network, log } = this.#options
    if (this.#cleaning || network === null) return
    this.#cleaning = true
    try {
      while (this.#released.length > 0) {
        const slots = this.#released
        this.#released = []
        await network.clean(slots).catch((error: unknown) => {
          // They stay taken. The next release retries.
          this.#released.push(...slots)
          throw error
        })
        const idle = this.#free().filter((slot) => network.hasTap(slot)).length
        await network
          .discard(slots.slice(Math.max(0, MAX_IDLE_TAPS - idle)))
          .catch((error: unknown) => log.error({ err: error }, 'TAPs not removed'))
        for (const slot of slots) this.#taken.delete(slot)
      }
    } catch (error) {
      log.error({ err: error }, 'slots not cleaned')
    } finally {
      this.#cleaning = false
    }
  }

  #free(): number[] {
    const { claims } = this.#options
    const blocks = claims?.blocks ?? Array.from({ length: MAX_SLOTS / BLOCK_SLOTS }, (_unused, block) => block)
    return blocks.flatMap((block) => {
      const first = block * BLOCK_SLOTS
      return Array.from({ length: BLOCK_SLOTS }, (_unused, index) => first + index).filter(
        (slot) => !this.#taken.has(slot),
      )
    })
  }
}

/** The slot whose VMs run as this user; `null` for any other user. */
export function slotOfUid(uid: number | null): number | null {
  return uid !== null && uid >= BASE_UID ? uid - BASE_UID : null
}

/** `null` if the agent is not root: it cannot run a process as another user. */
export function uidOfSlot(slot: number): number | null {
  return process.getuid?.() === 0 ? BASE_UID + slot : null
}
