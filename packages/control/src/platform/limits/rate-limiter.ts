import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { Rate, TokenBuckets } from './token-buckets.ts'

/** Milliseconds after which unused tokens return to the shared bucket. */
const LEASE_MS = 1_000
/**
 * The share of a bucket that one lease takes. It is small enough that several processes can share the bucket, and large
 * enough that leases are rare.
 */
const LEASE_SHARE = 1 / 5
/** Workspaces whose tokens are held. Beyond that the oldest entries are dropped, and those workspaces lease again. */
const MAX_KEPT = 50_000

interface Held {
  tokens: number
  leasedAtMs: number
  /** The bucket was empty: do not ask again before this time. */
  emptyUntilMs: number
  /** Tokens to ask for in one lease. */
  want: number
  leasing: Promise<void> | undefined
}

/**
 * One token bucket per workspace, shared by all its requests and all control processes.
 *
 * The bucket is in PostgreSQL or Redis. Each process leases a few tokens at a time and hands them out from memory, so
 * that a request seldom waits for the bucket. When a lease runs low, the process fetches the next one in the
 * background. Only a request that finds no token waits. Tokens that are unused for a second go back.
 */
export class RateLimiter {
  readonly #buckets: TokenBuckets
  readonly #rate: Rate
  readonly #held = new Map<WorkspaceId, Held>()

  /** @param rate for workspaces without a rate of their own */
  constructor(buckets: TokenBuckets, rate: Rate) {
    this.#buckets = buckets
    this.#rate = rate
  }

  /** @returns undefined if a token was available at once. @throws ApiError 429 */
  take(workspaceId: WorkspaceId): Promise<void> | undefined {
    const held = this.#holder(workspaceId)
    const isFresh = performance.now() - held.leasedAtMs < LEASE_MS
    if (!isFresh || held.tokens < 1) return this.#waitForToken(workspaceId, held)
    held.tokens -= 1
    // If the lease fails, the next request that finds no token reports the error.
    if (held.tokens < held.want / 2) this.#lease(workspaceId, held).catch(() => undefined)
    return undefined
  }

  async #waitForToken(workspaceId: WorkspaceId, held: Held): Promise<void> {
    for (;;) {
      const now = performance.now()
      if (held.tokens >= 1 && now - held.leasedAtMs < LEASE_MS) break
      if (now < held.emptyUntilMs) throw new ApiError('rateLimited')
      await this.#lease(workspaceId, held)
    }
    held.tokens -= 1
  }

  /** Only one lease at a time per workspace. */
  #lease(workspaceId: WorkspaceId, held: Held): Promise<void> {
    held.leasing ??= this.#ask(workspaceId, held).finally(() => (held.leasing = undefined))
    return held.leasing
  }

  async #ask(workspaceId: WorkspaceId, held: Held): Promise<void> {
    const askedAtMs = performance.now()
    if (askedAtMs < held.emptyUntilMs) return
    const isStale = askedAtMs - held.leasedAtMs >= LEASE_MS
    const unused = isStale ? held.tokens : 0
    if (isStale) held.tokens = 0
    const lease = await this.#buckets.lease(workspaceId, { want: held.want, unused }, this.#rate)
    const isEmpty = lease.granted < held.want
    held.tokens += lease.granted
    held.want = leaseSize(lease.burst)
    held.leasedAtMs = performance.now()
    held.emptyUntilMs = isEmpty ? held.leasedAtMs + 1000 / lease.perSecond : 0
  }

  #holder(workspaceId: WorkspaceId): Held {
    const kept = this.#held.get(workspaceId)
    if (kept !== undefined) return kept
    const want = leaseSize(this.#rate.burst)
    const held = { tokens: 0, leasedAtMs: Number.NEGATIVE_INFINITY, emptyUntilMs: 0, want, leasing: undefined }
    this.#held.set(workspaceId, held)
    if (this.#held.size > MAX_KEPT) this.#held.delete(this.#held.keys().next().value ?? workspaceId)
    return held
  }
}

function leaseSize(burst: number): number {
  return Math.max(1, Math.floor(burst * LEASE_SHARE))
}
