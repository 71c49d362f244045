import { setTimeout as wait } from 'node:timers/promises'
import type { SandboxId } from '@offshoot/contract/ids'
import type { Logger } from 'pino'
import { BLOCK_SLOTS, type SlotClaims } from '../host/slot-claims.ts'
import type { GuestNetwork } from '../network/guest-network.ts'

/** VMs one agent can have at the same time. */
export const MAX_SLOTS = 4096
/** User ids from here on belong to VMs, one a slot. Nobody else may have them. */
export const BASE_UID = 200_000
/** Of a sandbox that has no VM, or has lost its slot while no agent ran: it gets another when it is to run. */
export const NO_SLOT = -1
/**
 * Slots that are kept for sandboxes that hibernate, with TAP and connections, so that a guest that wakes soon finds its
 * connections as they were. Those that fell asleep first lose theirs first.
 */
export const MAX_PARKED = 128
/** TAPs that wait for their guests, and how many may be left over by those that have gone. */
const READY_TAPS = 16
const MAX_IDLE_TAPS = 48
/** Free slots from which on another block is claimed. */
const FEW_FREE = 128
/** Of fewer free slots, so many parked ones are given up. */
const FEW_PARKED = 16
/** Milliseconds between a VM's start and the work for those that come after it. */
const SUPPLY_MS = 100

export interface SlotsOptions {
  /** `null` where the agent is not root, and nothing of a slot is the machine's. */
  readonly claims: SlotClaims | null
  readonly network: GuestNetwork | null
  readonly log: Logger
}

/**
 * Hands out numbers; what a VM has of its own on the host is derived from them: its user, its TAP, its address.
 *
 *     free ──take──► taken ──release──► (cleaned) ──► free
 *                     │ ▲                   ▲
 *                park ▼ │ reclaim           │
 *                    parked ──another takes its place
 */
export class Slots {
  readonly #options: SlotsOptions
  readonly #taken = new Set<number>()
  /** Whose they are; those that were parked first come first. All of them are taken. */
  readonly #parked = new Map<number, SandboxId>()
  /** Released, and still to be cleaned. */
  #released: number[] = []
  #cleaning = false
  #isClaiming = false
  #isSupplying = false

  constructor(options: SlotsOptions) {
    this.#options = options
  }

  /** `null` when every slot is taken. */
  take(): number | null {
    let free = this.#free()
    if (free.length < FEW_PARKED && this.#parked.size > 0) {
      // Ahead of need: what was a guest's is another's only once it has been cleaned.
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

  /** Marks the slot of a sandbox that is already there. `false`: it is another's by now. */
  reserve(slot: number): boolean {
    const isOurs = this.#options.claims?.has(slot) ?? (slot >= 0 && slot < MAX_SLOTS)
    if (!isOurs || this.#taken.has(slot)) return false
    this.#taken.add(slot)
    return true
  }

  /** Of a sandbox that hibernates. Nothing runs in it any more. */
  park(slot: number, id: SandboxId): void {
    if (!this.#taken.has(slot)) return
    this.#parked.set(slot, id)
    this.#evict(MAX_PARKED)
  }

  /** The slot that a sandbox had before it hibernated, for it to run in again. `false`: it is another's by now. */
  reclaim(slot: number, id: SandboxId): boolean {
    if (this.#parked.get(slot) !== id) return this.reserve(slot)
    return this.#parked.delete(slot)
  }

  /** Of a sandbox that will not wake any more. */
  releaseParked(slot: number, id: SandboxId): void {
    if (this.#parked.get(slot) !== id) return
    this.#parked.delete(slot)
    this.release(slot)
  }

  isTaken(slot: number): boolean {
    return this.#taken.has(slot)
  }

  /** For nobody's use until nothing of its guest is left on the host. */
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

  /** Has TAPs, and numbers, ahead of need. */
  supplySoon(): void {
    const { log } = this.#options
    if (!this.#isClaiming) {
      this.#isClaiming = true
      this.#claim()
        .catch((error: unknown) => log.error({ err: error }, 'no more slots'))
        .finally(() => (this.#isClaiming = false))
    }
    if (this.#isSupplying) return
    this.#isSupplying = true
    wait(SUPPLY_MS, undefined, { ref: false })
      .then(() => this.#makeTaps())
      .catch((error: unknown) => log.error({ err: error }, 'no TAPs ahead of need'))
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
          // They stay out of use until the next release tries again.
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

/** `null` where the agent is not root: it cannot give a process another user. */
export function uidOfSlot(slot: number): number | null {
  return process.getuid?.() === 0 ? BASE_UID + slot : null
}
