/**
 * Failures that one address may have at once, and those it regains in a second. Generous: a guess of a key has 1 chance in
 * 2^190, and whoever tries every route with an outdated key, or sits with others behind one address, is to hear 401.
 */
export const FAILURES_AT_ONCE = 500
const PER_SECOND = 20
/** Addresses kept; those that failed longest ago go first. */
const MAX_KEPT = 10_000

interface Bucket {
  readonly left: number
  readonly atMs: number
}

/** Failed credentials by address, so that guessing costs us no database and gets slow. */
export class FailedAttempts {
  readonly #buckets = new Map<string, Bucket>()

  note(ip: string | undefined, nowMs = performance.now()): void {
    const key = network(ip)
    const left = Math.max(0, this.#left(key, nowMs) - 1)
    this.#buckets.delete(key)
    this.#buckets.set(key, { left, atMs: nowMs })
    if (this.#buckets.size > MAX_KEPT) this.#buckets.delete(this.#buckets.keys().next().value ?? key)
  }

  /** Whether the address has none left. */
  isSpent(ip: string | undefined, nowMs = performance.now()): boolean {
    return this.#left(network(ip), nowMs) < 1
  }

  #left(key: string, nowMs: number): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined
      ? FAILURES_AT_ONCE
      : Math.min(FAILURES_AT_ONCE, bucket.left + ((nowMs - bucket.atMs) / 1000) * PER_SECOND)
  }
}

/** Of an IPv6 address its /64: whoever has one address there has all of them. A caller that has hung up has none any more. */
function network(ip: string | undefined): string {
  if (ip === undefined) return ''
  if (!ip.includes(':') || ip.includes('.')) return ip
  const [head = ''] = ip.split('::', 1)
  return head.split(':').slice(0, 4).join(':')
}
