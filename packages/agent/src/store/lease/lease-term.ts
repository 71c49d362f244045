import { randomUUID } from 'node:crypto'

/** Challenges that a renewal may still answer. A control process uses the last one that it got. */
const MAX_CHALLENGES = 64

/**
 * When the lease of this host ends, by the clock of this host alone.
 *
 * The agent makes a challenge and notes the time. Control writes to its database that it renews the lease, and only then
 * sends the challenge back. The lease ends a number of seconds after the agent made the challenge, so it ends before
 * control, which counts from a later moment, may think so. A renewal that was delayed, lost, repeated or overtaken never
 * extends it beyond that.
 */
export class LeaseTerm {
  #endsAtMs: number
  /** When the challenge of the latest renewal was made. */
  #renewedFromMs = Number.NEGATIVE_INFINITY
  readonly #challenges = new Map<string, number>()

  /** @param endsAtMs as an earlier agent process knew it */
  constructor(endsAtMs = 0) {
    this.#endsAtMs = endsAtMs
  }

  get endsAtMs(): number {
    return this.#endsAtMs
  }

  /** A challenge for the next renewal. */
  challenge(nowMs: number): string {
    const made = randomUUID()
    this.#challenges.set(made, nowMs)
    const [oldest] = this.#challenges.keys()
    if (this.#challenges.size > MAX_CHALLENGES && oldest !== undefined) this.#challenges.delete(oldest)
    return made
  }

  /**
   * Only a renewal of a later challenge changes the end.
   * @returns the end of the lease after it; `null`: this agent process made no such challenge, or forgot it
   */
  endAfter(challenge: string, seconds: number): number | null {
    const madeAtMs = this.#challenges.get(challenge)
    if (madeAtMs === undefined) return null
    return madeAtMs > this.#renewedFromMs ? madeAtMs + seconds * 1000 : this.#endsAtMs
  }

  /** @returns whether the agent knew the challenge */
  renew(challenge: string, seconds: number): boolean {
    const endsAtMs = this.endAfter(challenge, seconds)
    if (endsAtMs === null) return false
    this.#renewedFromMs = Math.max(this.#renewedFromMs, this.#challenges.get(challenge) ?? 0)
    this.#endsAtMs = endsAtMs
    return true
  }

  /** From now on there is none. */
  end(): void {
    this.#challenges.clear()
    this.#renewedFromMs = Number.NEGATIVE_INFINITY
    this.#endsAtMs = 0
  }
}
