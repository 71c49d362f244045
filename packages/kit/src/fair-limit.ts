/**
 * Limits running tasks per tenant (`key`).
 *
 * A key holds at most `perKey` permits, and never more than are free. With n greedy keys, each gets total / (n + 1) and
 * the same number stays free. So no set of tenants can starve a later one.
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

  /** @returns a function that releases the permit (once); `null` if the key may not take another */
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
