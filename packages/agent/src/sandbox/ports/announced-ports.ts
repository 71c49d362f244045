/** Capacity of the token bucket: a server with many ports may announce this many changes at once. */
const BURST = 32
/** Milliseconds per new token. With this rate, 20 guests that open and close ports all the time write four records a second. */
const REFILL_MS = 5_000

export interface PortChange {
  readonly port: number
  readonly isOpen: boolean
}

/**
 * The ports of a sandbox that events have announced as open, and a token bucket that rate-limits further announcements. A change
 * without a token is announced by a later poll, unless it was undone by then.
 */
export class AnnouncedPorts {
  readonly #open: Set<number>
  #tokens = BURST
  #filledAtMs: number

  constructor(open: ReadonlySet<number>, nowMs: number) {
    this.#open = new Set(open)
    this.#filledAtMs = nowMs
  }

  /** The changes to announce now, closed ports first, limited by the tokens. */
  changes(ports: ReadonlySet<number>, nowMs: number): PortChange[] {
    this.#refill(nowMs)
    return [
      ...[...this.#open].filter((port) => !ports.has(port)).map((port) => ({ port, isOpen: false })),
      ...[...ports].filter((port) => !this.#open.has(port)).map((port) => ({ port, isOpen: true })),
    ].slice(0, this.#tokens)
  }

  /** Records that a change was announced, and spends a token. */
  markAnnounced({ port, isOpen }: PortChange): void {
    this.#tokens--
    if (isOpen) this.#open.add(port)
    else this.#open.delete(port)
  }

  #refill(nowMs: number): void {
    const earned = Math.floor((nowMs - this.#filledAtMs) / REFILL_MS)
    this.#filledAtMs += earned * REFILL_MS
    this.#tokens = Math.min(BURST, this.#tokens + earned)
  }
}
