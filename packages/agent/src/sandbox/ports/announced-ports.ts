/** Changes that a sandbox may tell of at once, as when a server with many ports starts. */
const BURST = 32
/** Milliseconds after which it may tell of one more: 20 guests that open and close ports without end write four records a second. */
const REFILL_MS = 5_000

export interface PortChange {
  readonly port: number
  readonly isOpen: boolean
}

/**
 * The ports that a sandbox was last said to have open, and a token bucket for saying more. A change that has no token is told
 * by a later look, unless it was undone until then: a port that opens and closes costs nothing while the bucket is empty.
 */
export class AnnouncedPorts {
  readonly #open: Set<number>
  #tokens = BURST
  #filledAtMs: number

  constructor(open: ReadonlySet<number>, nowMs: number) {
    this.#open = new Set(open)
    this.#filledAtMs = nowMs
  }

  /** What is to be told now, closed ports first: at most as many changes as there are tokens. */
  changes(ports: ReadonlySet<number>, nowMs: number): PortChange[] {
    this.#refill(nowMs)
    return [
      ...[...this.#open].filter((port) => !ports.has(port)).map((port) => ({ port, isOpen: false })),
      ...[...ports].filter((port) => !this.#open.has(port)).map((port) => ({ port, isOpen: true })),
    ].slice(0, this.#tokens)
  }

  /** A change was told. */
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
