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

  /**
   * @param amount of permits, for example bytes
   * @returns a function that releases the permits (once); `null` if the key may not take that many
   */
  take(key: string, amount = 1): (() => void) | null {
    const held = (this.#held.get(key) ?? 0) + amount
    if (held > Math.min(this.#perKey, this.#total - this.#taken)) return null
    this.#held.set(key, held)
    this.#taken += amount
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#giveBack(key, amount)
    }
  }

  #giveBack(key: string, amount: number): void {
    const left = (this.#held.get(key) ?? 0) - amount
    this.#taken -= amount
    if (left > 0) this.#held.set(key, left)
    else this.#held.delete(key)
  }
}
