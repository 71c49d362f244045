import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { Rate, TokenBuckets } from './token-buckets.ts'

/** Milliseconds after which unused tokens go back into the common bucket. */
const LEASE_MS = 1_000
/** The part of a bucket that one lease takes: small enough that several processes share it, large enough to be rare. */
const LEASE_SHARE = 1 / 5
/** Workspaces whose tokens are held; those that came first go first, and ask anew. */
const MAX_KEPT = 50_000

interface Held {
  tokens: number
  leasedAtMs: number
  /** The bucket was found empty: until then nobody asks again. */
  emptyUntilMs: number
  /** Tokens one lease asks for. */
  want: number
  leasing: Promise<void> | undefined
}

/**
 * One token bucket a workspace, over all its requests and all control processes.
 *
 * The bucket itself is in PostgreSQL or Redis; each process leases a few tokens of it at a time and hands them out of memory, so that a
 * request seldom waits for that: when the lease runs low the next one is fetched beside the requests it serves,
 * and only one that finds nothing left waits for it. Tokens that were not used within a second go back.
 */
export class RateLimiter {
  readonly #buckets: TokenBuckets
  readonly #rate: Rate
  readonly #held = new Map<WorkspaceId, Held>()

  /** @param rate of a workspace that has no other */
  constructor(buckets: TokenBuckets, rate: Rate) {
    this.#buckets = buckets
    this.#rate = rate
  }

  /** @returns nothing to wait for when a token was at hand. @throws ApiError 429 */
  take(workspaceId: WorkspaceId): Promise<void> | undefined {
    const held = this.#holder(workspaceId)
    const isFresh = performance.now() - held.leasedAtMs < LEASE_MS
    if (!isFresh || held.tokens < 1) return this.#waitForToken(workspaceId, held)
    held.tokens -= 1
    // Should it fail, the request that finds none is told.
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

  /** One lease at a time for each workspace. */
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
