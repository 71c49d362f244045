import type { IncomingMessage } from 'node:http'

/** Milliseconds that a client has to notice an early answer. */
const DRAIN_MS = 30_000

/**
 * Discards the rest of a request that has already been answered. Many clients read the answer only after they have sent
 * everything; closing the connection earlier would hide the answer from them.
 */
export function drainRequest(raw: IncomingMessage): void {
  if (raw.complete) return
  raw.unpipe()
  raw.resume()
  const timer = setTimeout(() => raw.destroy(), DRAIN_MS)
  raw.once('close', () => clearTimeout(timer))
}
