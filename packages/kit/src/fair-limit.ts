/**
 * Counts tasks under way by the key (a tenant) that they belong to.
 *
 * A key holds at most `perKey` permits, and never more than are free: with n greedy keys each gets total / (n + 1), and as much is
 * left. So no set of tenants takes the permits of one that comes later.
 */
export class FairLimit {
  readonly #perKey: number
  readonly #total: number
  readonly #held = new Map<string, number>()
  #taken = 0

  constructor(perKey: number, total: number) {
    this.#perKey = perKey
    this.#total = total
  }

  /** @returns what gives the permit back, once; `null` when the key may hold no more */
  take(key: string): (() => void) | null {
    const held = this.#held.get(key) ?? 0
    if (held >= Math.min(this.#perKey, this.#total - this.#taken)) return null
    this.#held.set(key, held + 1)
    this.#taken += 1
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#giveBack(key)
    }
  }

  #giveBack(key: string): void {
    const left = (this.#held.get(key) ?? 0) - 1
    this.#taken -= 1
    if (left > 0) this.#held.set(key, left)
    else this.#held.delete(key)
  }
}
