/** VMs one agent can have at the same time. */
export const MAX_SLOTS = 4096
/** User ids from here on belong to VMs, one a slot; the one below runs bakes. Nobody else may have them. */
const BASE_UID = 200_000

/** Hands out the lowest free number; what a VM has of its own is derived from it. */
export class Slots {
  readonly #taken = new Set<number>()

  /** `null` when every slot is taken. */
  take(): number | null {
    for (let slot = 0; slot < MAX_SLOTS; slot++) {
      if (this.#taken.has(slot)) continue
      this.#taken.add(slot)
      return slot
    }
    return null
  }

  /** Marks the slot of a sandbox that is already there. */
  reserve(slot: number): void {
    this.#taken.add(slot)
  }

  isTaken(slot: number): boolean {
    return this.#taken.has(slot)
  }

  release(slot: number): void {
    this.#taken.delete(slot)
  }
}

/** `null` where the agent is not root: it cannot give a process another user. */
export function uidOfSlot(slot: number): number | null {
  return process.getuid?.() === 0 ? BASE_UID + slot : null
}

/** The user that bakes run as: like a sandbox's, a template's own commands are not trusted. */
export function uidOfBakes(): number | null {
  return process.getuid?.() === 0 ? BASE_UID - 1 : null
}
