/**
 * A token bucket of failures per address: its size, and the failures regained per second. It is generous, because
 * guessing a key succeeds once in 2^190 attempts. A client that tries every route with an outdated key, or shares its
 * address with others, should still get a 401.
 */
export const FAILURES_AT_ONCE = 500
const PER_SECOND = 20
/** Addresses kept. Beyond that, those with the oldest failures are dropped. */
const MAX_KEPT = 10_000

interface Bucket {
  readonly left: number
  readonly atMs: number
}

/** Counts failed credentials by address, so that guessing is slowed down and does not reach the database. */
export class FailedAttempts {
  readonly #atOnce: number
  readonly #perSecond: number
  readonly #buckets = new Map<string, Bucket>()

  constructor(atOnce = FAILURES_AT_ONCE, perSecond = PER_SECOND) {
    this.#atOnce = atOnce
    this.#perSecond = perSecond
  }

  note(ip: string | undefined, nowMs = performance.now()): void {
    const key = network(ip)
    const left = Math.max(0, this.#left(key, nowMs) - 1)
    this.#buckets.delete(key)
    this.#buckets.set(key, { left, atMs: nowMs })
    if (this.#buckets.size > MAX_KEPT) this.#buckets.delete(this.#buckets.keys().next().value ?? key)
  }

  /** Whether the address has no failures left. */
  isSpent(ip: string | undefined, nowMs = performance.now()): boolean {
    return this.#left(network(ip), nowMs) < 1
  }

  #left(key: string, nowMs: number): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined
      ? this.#atOnce
      : Math.min(this.#atOnce, bucket.left + ((nowMs - bucket.atMs) / 1000) * this.#perSecond)
  }
}

/**
 * For an IPv6 address its /64 network, because a client usually has all addresses of it. A caller that has hung up has
 * no address.
 */
function network(ip: string | undefined): string {
  if (ip === undefined) return ''
  if (!ip.includes(':') || ip.includes('.')) return ip
  const [head = ''] = ip.split('::', 1)
  return head.split(':').slice(0, 4).join(':')
}
