/** Failures of one address at once, and how many it regains each second. */
const BURST = 60
const PER_SECOND = 1
/** Addresses to remember. Beyond it the oldest is forgotten. */
const MAX_ADDRESSES = 10_000

interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** A token bucket of failed authentications for each address. */
export class FailedAddresses {
  readonly #buckets = new Map<string, Bucket>()

  isSpent(address: string): boolean {
    return this.#left(address) < 1
  }

  note(address: string): void {
    const tokens = Math.max(0, this.#left(address) - 1)
    this.#buckets.delete(address)
    this.#buckets.set(address, { tokens, atMs: performance.now() })
    if (this.#buckets.size > MAX_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value ?? address)
  }

  #left(address: string): number {
    const bucket = this.#buckets.get(address)
    if (bucket === undefined) return BURST
    return Math.min(BURST, bucket.tokens + ((performance.now() - bucket.atMs) / 1000) * PER_SECOND)
  }
}
