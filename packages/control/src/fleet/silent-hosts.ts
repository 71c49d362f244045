import type { SilentLease } from './lease-statements.ts'

/** The wait is longer than the lease, because clocks do not run equally fast, and a VM is stopped a moment later. */
const DRIFT = 1.05
const MARGIN_MS = 1_000

interface Seen {
  readonly renewals: number
  readonly incarnation: string
  readonly sinceMs: number
}

/**
 * Decides when the lease of a host must have ended by the clock of the host.
 *
 * Control counts a renewal before it sends it, and the lease lasts from a moment before that. So if the count stays the
 * same for longer than the lease, there is none. Only durations on the clock of this process matter. After a failover or
 * a restore, renewals may be unknown that were sent before, so the wait begins anew.
 */
export class SilentHosts {
  readonly #now: () => number
  #seen = new Map<string, Seen>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * @param leases as they are in the database now; call it again and again with all of them
   * @returns those that have ended, unless they are renewed right now
   */
  ended(leases: readonly SilentLease[]): SilentLease[] {
    const nowMs = this.#now()
    this.#seen = new Map(
      leases.map(({ agent_id: id, renewals, incarnation }) => {
        const seen = this.#seen.get(id)
        const isSame = seen?.renewals === renewals && seen.incarnation === incarnation
        return [id, isSame ? seen : { renewals, incarnation, sinceMs: nowMs }]
      }),
    )
    return leases.filter(({ agent_id: id, seconds }) => {
      const sinceMs = this.#seen.get(id)?.sinceMs ?? nowMs
      return nowMs - sinceMs > seconds * 1000 * DRIFT + MARGIN_MS
    })
  }
}
